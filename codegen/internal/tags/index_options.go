// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"slices"
	"strings"
)

// IndexOptions are the options that follow the fields of an Index or Unique marker.
type IndexOptions struct {
	MarkerOptions
	Fields      []FieldName
	Cover       bool
	CoverFields []FieldName

	Scatter Scatter
}

// MarkerOptions are the options that all markers of indexes have.
type MarkerOptions struct {
	Where Where
	Name  string

	WithDeleted   bool // deleted records have entries, too
	WithDeletedAt int  // the offset of that option
}

// indexOptionWords are the valid options, for suggestions.
var indexOptionWords = []string{"name=", "cover", "cover=", "where=", "scatter=", withDeleted}

// withDeleted is the option of an index that has deleted records, too.
const withDeleted = "withdeleted"

// ParseIndexOptions reads an Index or Unique marker.
func ParseIndexOptions(t Tag) (o IndexOptions, found []Fault) {
	p := optionParser{}
	for _, w := range t.Words() {
		switch {
		case w.Text == "":
			p.bad(w.Offset, "empty field name; remove the comma")
		case p.parseShared(w, &o.MarkerOptions):
		case w.key == "scatter":
			if p.once(w) {
				var message string
				if o.Scatter, message = parseScatter(w); message != "" {
					p.bad(w.valueOffset(), "%s", message)
				}
			}
		case w.key == "cover":
			if p.once(w) {
				p.parseCover(w, &o)
			}
		case unsupportedInIndex(w.key) != "":
			p.bad(w.Offset, "%s", unsupportedInIndex(w.key))
		case w.hasValue:
			p.bad(w.Offset, "unknown option %s%s", w.key, Suggest(w.key, indexOptionWords))
		default:
			p.addField(w, &o)
		}
	}
	if len(o.Fields) == 0 && len(p.faults) == 0 {
		p.bad(t.Offset(0), "the index names no field; write the fields with commas between")
	}
	return o, p.faults
}

// unsupportedInIndex returns what to write instead of an option that other libraries
// have, or "".
func unsupportedInIndex(key string) string {
	switch key {
	case "desc", "descending", "asc", "ascending":
		return fmt.Sprintf("%s is not supported as an option: write desc after a field, with a space, such as CreatedAt desc", key)
	case "sparse", "partial":
		return fmt.Sprintf("%s is not supported: write where=Field!=null for the records without null, or another condition", key)
	case "by":
		n := len(Aggregates) - 1
		return fmt.Sprintf("by is an option of %s and %s; here write the fields with commas between", strings.Join(Aggregates[:n], ", "), Aggregates[n])
	}
	return ""
}

// optionParser collects the faults of a tag. Its options may have any order.
type optionParser struct {
	seen   []string
	faults []Fault
}

func (p *optionParser) bad(at int, format string, args ...any) {
	p.faults = append(p.faults, Fault{at, fmt.Sprintf(format, args...)})
}

// once reports an option that is given twice.
func (p *optionParser) once(w word) bool {
	if slices.Contains(p.seen, w.key) {
		p.bad(w.Offset, "option %s is given twice", w.key)
		return false
	}
	p.seen = append(p.seen, w.key)
	return true
}

// parseShared reads the options that all indexes have, and reports whether w is one.
func (p *optionParser) parseShared(w word, o *MarkerOptions) bool {
	if w.key != "name" && w.key != "where" && w.Text != withDeleted || w.key == "name" && !w.hasValue {
		return false
	}
	if !p.once(w) {
		return true
	}
	switch w.key {
	case "name":
		o.Name = w.value
		if message := CheckName(w.value); message != "" {
			p.bad(w.ValueOffset, "%s", message)
		}
	case withDeleted:
		o.WithDeleted, o.WithDeletedAt = true, w.Offset
	default:
		condition, faults := parseWhere(w)
		o.Where, p.faults = condition, append(p.faults, faults...)
	}
	return true
}

// parseCover reads cover, for the whole record, or cover=A+B.
func (p *optionParser) parseCover(w word, o *IndexOptions) {
	if !w.hasValue {
		o.Cover = true
		return
	}
	list, faults := parseFieldList(w)
	o.CoverFields, p.faults = list, append(p.faults, faults...)
}

// addField reads one of the index's fields.
func (p *optionParser) addField(w word, o *IndexOptions) {
	f, fault := parseIndexField(w)
	switch {
	case fault != nil:
		p.faults = append(p.faults, *fault)
	case slices.ContainsFunc(o.Fields, func(other FieldName) bool { return other.Text == f.Text }):
		p.bad(w.Offset, "field %s is given twice", f.Text)
	default:
		o.Fields = append(o.Fields, f)
	}
}

// FieldName is the name of a field in a tag, or its path through nested structs.
type FieldName struct {
	Text       string
	Offset     int // in the tag's literal
	Descending bool
}

// parseIndexField reads a field of an index and its order.
func parseIndexField(w word) (f FieldName, fault *Fault) {
	name, order, _ := strings.Cut(w.Text, " ")
	order = strings.TrimSpace(order)
	f = FieldName{Text: name, Offset: w.Offset}
	at := w.offsets[len(w.Text)-len(order)]
	switch {
	case order == "":
	case order == "desc":
		f.Descending = true
	case strings.EqualFold(order, "asc"):
		fault = &Fault{at, "a field is in ascending order anyway; remove " + order}
	default:
		fault = &Fault{at, fmt.Sprintf("%q follows the field %s%s; between fields write commas", order, name, Suggest(order, []string{"desc"}))}
	}
	return f, fault
}

// parseFieldList reads the fields of by=A+B or cover=A+B.
func parseFieldList(w word) (list []FieldName, found []Fault) {
	offsets := w.valueOffsets()
	from := 0
	for part := range strings.SplitSeq(w.value, "+") {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		f := FieldName{Text: strings.TrimSpace(part), Offset: offsets[from+lead]}
		from += len(part) + 1
		switch {
		case f.Text == "":
			found = append(found, Fault{f.Offset, fmt.Sprintf("%s: empty field name; write the fields with + between, such as %s=A+B", w.key, w.key)})
		case strings.Contains(f.Text, " "):
			found = append(found, Fault{f.Offset, fmt.Sprintf("%s: %q is not the name of a field; write the fields with + between", w.key, f.Text)})
		case slices.ContainsFunc(list, func(other FieldName) bool { return other.Text == f.Text }):
			found = append(found, Fault{f.Offset, fmt.Sprintf("%s: field %s is given twice", w.key, f.Text)})
		default:
			list = append(list, f)
		}
	}
	return list, found
}

// Aggregates are the markers of indexes that keep something of a group of records.
var Aggregates = []string{"Count", "Sum", "Min", "Max", "Rank"}

// AggregateOptions are the options of such a marker.
type AggregateOptions struct {
	MarkerOptions
	Of FieldName // what is kept of the group, such as a sum of; "" for Count
	By []FieldName
}

// aggregateOptionWords are the valid options, for suggestions.
var aggregateOptionWords = []string{"by=", "where=", "name=", withDeleted}

// ParseAggregateOptions reads a marker of that name. A tag without words is that of a
// Count of all records.
func ParseAggregateOptions(t Tag, marker string) (o AggregateOptions, found []Fault) {
	p := optionParser{}
	for _, w := range t.Words() {
		switch {
		case w.Text == "":
			p.bad(w.Offset, "empty option; remove the comma")
		case p.parseShared(w, &o.MarkerOptions):
		case w.key == "by":
			if p.once(w) {
				list, faults := parseFieldList(w)
				o.By, p.faults = list, append(p.faults, faults...)
			}
		case !w.hasValue && o.Of.Text == "" && marker != "Count" && !strings.Contains(w.Text, " "):
			o.Of = FieldName{Text: w.Text, Offset: w.Offset}
		default:
			p.bad(w.Offset, "%s", misplaced(w, marker, o.Of.Text))
		}
	}
	if o.Of.Text == "" && marker != "Count" && len(p.faults) == 0 {
		p.bad(t.Offset(0), "the persistable.%s marker names no field; write `persist:\"Field\"`, or `persist:\"Field,by=Group\"`", marker)
	}
	return o, p.faults
}

// misplaced is the fault of a word that the marker does not have.
func misplaced(w word, marker, of string) string {
	name, order, _ := strings.Cut(w.Text, " ")
	switch {
	case w.hasValue:
		return fmt.Sprintf("unknown option %s%s", w.key, Suggest(w.key, aggregateOptionWords))
	case order == "desc" || order == "asc":
		return fmt.Sprintf("%s has no direction; remove %s", name, order)
	case marker == "Count":
		return fmt.Sprintf("a Count counts records; to count them by %s write by=%s", w.Text, w.Text)
	case of != "":
		return fmt.Sprintf("%s is a second field after %s; write by=%s for a field of the group", w.Text, of, w.Text)
	}
	return fmt.Sprintf("%q is not the name of a field", w.Text)
}

// ParseSearchOptions reads a Search marker: fields, where=, name= and withdeleted.
func ParseSearchOptions(t Tag) (o IndexOptions, found []Fault) {
	p := optionParser{}
	for _, w := range t.Words() {
		switch {
		case w.Text == "":
			p.bad(w.Offset, "empty field name; remove the comma")
		case p.parseShared(w, &o.MarkerOptions):
		case w.key == "cover" || w.key == "scatter":
			p.bad(w.Offset, "a Search has no option %s; its entries are one for each word", w.key)
		case w.hasValue:
			p.bad(w.Offset, "unknown option %s%s", w.key, Suggest(w.key, []string{"where=", "name=", withDeleted}))
		default:
			p.addField(w, &o)
		}
	}
	for _, f := range o.Fields {
		if f.Descending {
			p.bad(f.Offset, "%s", fmt.Sprintf("the words of %s have no direction; remove desc", f.Text))
		}
	}
	if len(o.Fields) == 0 && len(p.faults) == 0 {
		p.bad(t.Offset(0), "the persistable.Search marker names no field; write `persist:\"Field\"`, or several with commas between")
	}
	return o, p.faults
}
