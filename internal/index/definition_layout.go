// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Layout describes everything that the bytes of the entries depend on. Two
// definitions with equal key names and layouts share entries. It is the fields, a
// colon and their signature, then those of these options that are set, in this
// order:
//
//	:kind=count          the kind
//	:of=Amount           the field that a sum adds
//	:desc=A,B            the descending fields
//	:fold15.0.0=A,B      the folded fields, and the version of Unicode
//	:cover               a copy of the record in each entry
//	:cover=A,B           a copy of these fields in each entry
//	:scatter=16          the number of shards
//	:where=Status=1      the condition of a partial index, up to the end
//
// Whether the index is unique is said by its key name, and Sparse follows from the
// rest.
func (d *Definition) Layout() string {
	layout := strings.Join(d.Fields, ",") + ":" + d.Signature
	layout += option("kind", string(d.Kind)) + option("of", d.Of) + option("desc", strings.Join(d.Descending, ","))
	layout += option(FoldOption, strings.Join(d.Folded, ","))
	if d.Cover {
		layout += ":cover"
	}
	layout += option("cover", strings.Join(d.CoverFields, ","))
	if d.Scatter != 0 {
		layout += option("scatter", strconv.Itoa(int(d.Scatter)))
	}
	return layout + option("where", d.Where)
}

// option is the text of an option; empty if it has no value.
func option(name, value string) string {
	if value == "" {
		return ""
	}
	return ":" + name + "=" + value
}

// ParseLayout returns the definition that has this key name and this layout: the
// inverse of [Definition.KeyName] and [Definition.Layout]. A layout that another
// version of the program wrote, with words that this one does not know, is an error, a [newer.Err].
func ParseLayout(keyName, layout string) (Definition, error) {
	d := Definition{Name: keyName}
	d.Name, d.Unique = cutUnique(keyName)
	err := d.parse(layout)
	if err == nil {
		err = d.Validate()
	}
	if err == nil && d.Layout() != layout {
		err = fmt.Errorf("it should be written %q", d.Layout())
	}
	if err != nil {
		return Definition{}, fmt.Errorf("index: the layout %q of %s: %w", layout, keyName, err)
	}
	return d, nil
}

// cutUnique takes the suffix of a unique index off a key name. Underscores within
// names are doubled: before the suffix of a unique index there is an even number of
// them, within a name such as my_unique an odd one.
func cutUnique(keyName string) (name string, unique bool) {
	name, found := strings.CutSuffix(keyName, uniqueSuffix)
	if underscores := len(name) - len(strings.TrimRight(name, "_")); !found || underscores%2 == 1 {
		return keyName, false
	}
	return name, true
}

// parse reads a layout.
func (d *Definition) parse(layout string) error {
	fields, rest, found := strings.Cut(layout, ":")
	if !found {
		return fmt.Errorf("the signature is missing")
	}
	d.Fields = splitNames(fields)
	d.Signature, rest, found = strings.Cut(rest, ":")
	for found {
		var word string
		if value, isWhere := strings.CutPrefix(rest, "where="); isWhere {
			d.Where = value
			break
		}
		word, rest, found = strings.Cut(rest, ":")
		if err := d.parseOption(word); err != nil {
			return err
		}
	}
	return d.deriveSparse()
}

// parseOption reads one option but where.
func (d *Definition) parseOption(text string) (err error) {
	switch word, value, _ := strings.Cut(text, "="); word {
	case "kind":
		if d.Kind = Kind(value); !d.Kind.isKnown() {
			err = newer.Unknown(fmt.Sprintf("the kind %q", value))
		}
	case "of":
		d.Of = value
	case "desc":
		d.Descending = splitNames(value)
	case FoldOption:
		d.Folded = splitNames(value)
	case "cover":
		d.Cover, d.CoverFields = value == "", splitNames(value)
	case "scatter":
		var n int
		n, err = strconv.Atoi(value)
		d.Scatter = Shards(n)
	default:
		err = newer.Unknown(fmt.Sprintf("the option %q", text))
	}
	return err
}

// deriveSparse sets Sparse from the kinds of the fields.
func (d *Definition) deriveSparse() error {
	kinds := d.Kinds()
	if want := len(d.Fields) + len(d.CoverFields) + min(len(d.Of), 1); len(kinds) != want {
		return fmt.Errorf("%d kinds are named, of %d fields", len(kinds), want)
	}
	for i, field := range d.Fields {
		if strings.HasPrefix(kinds[i], "[]") || d.Unique && strings.HasPrefix(kinds[i], "*") {
			d.Sparse = append(d.Sparse, field)
		}
	}
	return nil
}

// Kinds returns the kinds that the signature names: those of Fields, then that of
// Of, if there is one, then those of CoverFields. A comma within parentheses or
// brackets, as text(Pair[A,B]) has one, separates none.
func (d *Definition) Kinds() []string {
	if d.Signature == "" {
		return nil
	}
	var kinds []string
	depth, from := 0, 0
	for i, c := range []byte(d.Signature) {
		switch {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			kinds, from = append(kinds, d.Signature[from:i]), i+1
		}
	}
	return append(kinds, d.Signature[from:])
}

func splitNames(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Validate reports all faults of the definition, joined.
func (d *Definition) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("index: "+format, args...))
		}
	}
	fault(d.Name == "", "a definition without a name")
	_, namedUnique := cutUnique(d.KeyName())
	fault(namedUnique != d.Unique, "%s has a name that says otherwise whether it is unique", d.Name)
	fault(!d.Kind.isKnown(), "%s is of the kind %q, which this program does not know", d.Name, d.Kind)
	if err := d.Scatter.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("index: %s: %w", d.Name, err))
	}
	fault(d.Unique && d.Scatter != 0, "%s is unique and cannot be scattered", d.Name)
	fault(d.Cover && len(d.CoverFields) > 0, "%s covers the record already: it needs no copies of fields", d.Name)
	fault(strings.Contains(d.Signature, ":"), "the signature of %s has a colon", d.Name)
	faults = append(faults, d.validateNames(), d.validateKind())
	return errors.Join(faults...)
}

// validateKind reports the faults of a definition of its kind.
func (d *Definition) validateKind() error {
	var faults []error
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, fmt.Errorf("index: %s %s", d.Name, text))
		}
	}
	fault(d.Kind.descriptor().needsFields && len(d.Fields) == 0, "has no fields")
	fault(d.Kind == Version && len(d.Fields) > 0, "is ordered by versions and has fields")
	fault((d.Kind == Sum) != (d.Of != ""), "must name the field that it adds if, and only if, it is a sum")
	if d.Kind != Value {
		fault(d.Unique, "cannot be unique: only an index of values can")
		fault(d.Cover || len(d.CoverFields) > 0, "cannot cover records: only an index of values can")
		fault(d.Scatter != 0, "cannot be scattered: only an index of values can")
		fault(len(d.Descending) > 0, "has descending fields: only an index of values can")
	}
	fault(d.Kind == Version && d.Where != "", "has a condition: an index of versions has all records")
	return errors.Join(faults...)
}

// validateNames reports field names that have no place in a layout, and
// descending and folded fields that are none of the index.
func (d *Definition) validateNames() error {
	var faults []error
	for _, field := range slices.Concat(d.Fields, []string{d.Of}, d.CoverFields) {
		if strings.ContainsAny(field, ",:=") {
			faults = append(faults, fmt.Errorf("index: %s: the field %q has a comma, a colon or an equals sign in its name", d.Name, field))
		}
	}
	for word, list := range map[string][]string{"descending": d.Descending, "folded": d.Folded} {
		for i, field := range list {
			if !slices.Contains(d.Fields, field) || slices.Contains(list[:i], field) {
				faults = append(faults, fmt.Errorf("index: %s: the %s field %q is none of its fields, or is named twice", d.Name, word, field))
			}
		}
	}
	for i, field := range d.Fields {
		if d.IsFolded(i) && strings.TrimLeft(d.kind(i), "[]*") != "string" {
			faults = append(faults, fmt.Errorf("index: %s: the folded field %q is no text", d.Name, field))
		}
	}
	return errors.Join(faults...)
}

// BoundsText returns what bounds say of the fields, as "Status=1" and "Amount>=20". Of
// a field that is stored in descending order it says what holds of the field. Of a range
// that ends before every key it says "nothing". A range of the id after all fields is one of "id".
func (d *Definition) BoundsText(b Bounds) (texts []string) {
	if b.end != nil && len(b.end) == 0 {
		return []string{"nothing"}
	}
	rest := b.equal
	i := 0
	for ; i < d.elements() && len(rest) > 0; i++ {
		element, after, err := d.AppendAscending(nil, rest, i)
		if err != nil {
			return texts
		}
		texts = append(texts, d.field(i)+"="+ElementText(element, d.kind(i)))
		rest = after
	}
	if prefix := d.prefixOf(b, i); prefix != nil {
		return append(texts, d.field(i)+" prefix "+ElementText(prefix, d.kind(i)))
	}
	if len(b.begin) > len(b.equal) {
		texts = d.appendBound(texts, i, b.begin[len(b.equal):], ">=", ">")
	}
	if end := b.end; len(end) > len(b.equal) {
		texts = d.appendBound(texts, i, end[len(b.equal):], "<", "<=")
	}
	return texts
}

// prefixOf returns the tuple element with which all values of the i-th field begin, the one after
// those with equality; nil if the bounds do not say that.
func (d *Definition) prefixOf(b Bounds, i int) []byte {
	if len(b.begin) <= len(b.equal) || b.end == nil || !bytes.Equal(kv.PrefixRange(b.begin).End, b.end) {
		return nil
	}
	end := []byte{0}
	if d.IsDescending(i) {
		end = []byte{0xff, 0xff, 0} // as DescendPrefix and Descend leave it
	}
	element, rest, err := d.AppendAscending(nil, slices.Concat(b.begin[len(b.equal):], end), i)
	if err != nil || len(rest) > 0 {
		return nil
	}
	return element
}

// appendBound appends what one end of a range says of the i-th field: at is the operator
// of a bound at the value, after the operator of a bound after all keys that have it.
func (d *Definition) appendBound(texts []string, i int, bound []byte, at, after string) []string {
	element, rest, err := d.AppendAscending(nil, bound, i)
	isAfter := len(rest) > 0
	if n := len(bound) - 1; err != nil && bound[n] == afterValue { // read as part of a string
		element, _, err = d.AppendAscending(nil, bound[:n], i)
		isAfter = true
	}
	if err != nil && !d.IsDescending(i) { // one end of a prefix, narrowed at the other one
		element, _, err = d.AppendAscending(nil, append(slices.Clone(bound), 0), i)
	}
	if err != nil {
		return texts
	}
	operator := at
	if isAfter {
		operator = after
	}
	if d.IsDescending(i) {
		operator = map[string]string{">=": "<=", ">": "<", "<": ">", "<=": ">="}[operator]
	}
	return append(texts, d.field(i)+operator+ElementText(element, d.kind(i)))
}

// field names the i-th field of a key: the id is after the last one of the index.
func (d *Definition) field(i int) string {
	element := d.Kind.descriptor().element
	switch {
	case i == d.elements():
		return "id"
	case element != "":
		return element
	}
	return d.Fields[i]
}

// kind returns the kind of the i-th field; "" if the signature has none.
func (d *Definition) kind(i int) string {
	if kinds := d.Kinds(); i < min(len(kinds), d.elements()) {
		return kinds[i]
	}
	return ""
}

// ElementText returns a tuple element as text. kind is that of its field in the
// signature of an index: the elements of times are integers.
func ElementText(element []byte, kind string) string {
	t, err := tuple.Unpack(element)
	if err != nil || len(t) != 1 {
		return "?"
	}
	if n, ok := t[0].(int64); ok && strings.TrimLeft(kind, "[]*") == "time" {
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	}
	text := t.String()
	return strings.TrimSuffix(text[1:len(text)-1], ",")
}
