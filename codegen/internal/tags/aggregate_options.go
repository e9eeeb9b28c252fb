// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"strings"
)

// AggregateOptions are the options of a Count, Sum, Min, Max or Rank marker.
type AggregateOptions struct {
	Of    FieldName // what is summed, compared or ranked; "" for Count
	By    []FieldName
	Where Where
	Name  string
}

// aggregateOptionWords are the valid options, for suggestions.
var aggregateOptionWords = []string{"by=", "where=", "name="}

// ParseAggregateOptions reads a marker of that name. A tag without words is that of a
// Count of all records.
func ParseAggregateOptions(t Tag, marker string) (o AggregateOptions, found []Fault) {
	p := optionParser{}
	for _, w := range t.Words() {
		switch {
		case w.Text == "":
			p.bad(w.Offset, "empty option; remove the comma")
		case p.parseShared(w, &o.Name, &o.Where):
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
		return fmt.Sprintf("%s is a second field behind %s; fields of the group are those of by=%s", w.Text, of, w.Text)
	}
	return fmt.Sprintf("%q is not the name of a field", w.Text)
}
