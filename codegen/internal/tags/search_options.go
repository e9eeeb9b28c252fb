// SPDX-License-Identifier: Apache-2.0

package tags

import "fmt"

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
