// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/newer"
)

// Layout describes everything that the bytes of the entries depend on. Two
// definitions with equal key names and layouts share entries. It is the fields, a
// colon and their signature, then those of these options that are set, in this
// order:
//
//	:kind=count          the kind
//	:of=Amount           the field that a sum adds
//	:desc=A,B            the descending fields
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
		if d.Kind = Kind(value); !d.Kind.known() {
			err = newer.Unknown(fmt.Sprintf("the kind %q", value))
		}
	case "of":
		d.Of = value
	case "desc":
		d.Descending = splitNames(value)
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
