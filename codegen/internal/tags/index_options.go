// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"slices"
)

// IndexOptions are the options behind the fields of an Index or Unique marker.
type IndexOptions struct {
	Fields []word
	Cover  bool
	Name   string

	Scatter Scatter
}

// ParseIndexOptions reads an Index or Unique marker.
func ParseIndexOptions(t Tag) (o IndexOptions, found []Fault) {
	bad := func(at int, format string, args ...any) {
		found = append(found, Fault{at, fmt.Sprintf(format, args...)})
	}
	for _, w := range t.Words() {
		switch {
		case w.Text == "":
			bad(w.Offset, "empty field name; remove the comma")
		case w.key == "name" && w.hasValue:
			if o.Name != "" {
				bad(w.Offset, "option name is given twice")
			}
			o.Name = w.value
			if message := CheckName(w.value); message != "" {
				bad(w.ValueOffset, "%s", message)
			}
		case w.key == "scatter":
			if o.Scatter.Shards != 0 {
				bad(w.Offset, "option scatter is given twice")
			}
			var message string
			if o.Scatter, message = parseScatter(w); message != "" {
				bad(w.scatterOffset(), "%s", message)
			}
		case unsupported(w) != "":
			bad(w.Offset, "%s", unsupported(w))
		case w.hasValue:
			bad(w.Offset, "unknown option %s%s", w.key, Suggest(w.key, []string{"name=", "cover", "scatter="}))
		case w.Text == "cover" && o.Cover:
			bad(w.Offset, "option cover is given twice")
		case w.Text == "cover":
			o.Cover = true
		case slices.ContainsFunc(o.Fields, func(f word) bool { return f.Text == w.Text }):
			bad(w.Offset, "field %s is given twice", w.Text)
		default:
			o.Fields = append(o.Fields, w)
		}
	}
	if len(o.Fields) == 0 && len(found) == 0 {
		bad(t.Offset(0), "the index names no field; write the fields with commas between")
	}
	return o, found
}
