// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"slices"
	"strings"
)

// FieldName is the name of a field in a tag, or its path through nested structs.
type FieldName struct {
	Text       string
	Offset     int // in the tag's literal
	Descending bool
}

// parseIndexField reads a field of an index, with its order behind it.
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
		fault = &Fault{at, fmt.Sprintf("%q stands behind the field %s%s; between fields write commas", order, name, Suggest(order, []string{"desc"}))}
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
