// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strings"
)

// typeOptions are what a Type marker says.
type typeOptions struct {
	Name    string // "" if it only scatters
	Scatter Scatter
}

// ParseTypeOptions reads a Type marker: the name, the option scatter, or both.
func ParseTypeOptions(t Tag) (o typeOptions, found []Fault) {
	words := t.Words()
	if len(words) == 0 {
		return o, []Fault{{t.Offset(0), "the type name is empty"}}
	}
	for i, w := range words {
		switch {
		case w.key == "scatter" && (w.hasValue || i > 0):
			if o.Scatter.Shards != 0 {
				found = append(found, Fault{w.Offset, "option scatter is given twice"})
				continue
			}
			s, message := parseScatter(w)
			if message != "" {
				found = append(found, Fault{w.valueOffset(), message})
			}
			o.Scatter = s
		case i > 0:
			found = append(found, Fault{w.Offset, "a persistable.Type marker holds the type's name and the option scatter=N; nothing else" + meantScatter(w)})
		default:
			if message := CheckName(w.Text); message != "" {
				found = append(found, Fault{w.Offset, message})
				continue
			}
			o.Name = w.Text
		}
	}
	return o, found
}

// meantScatter suggests the option scatter for what is nearly it.
func meantScatter(w word) string {
	if text := Suggest(w.key, []string{"scatter="}); strings.Contains(text, "mean") {
		return text
	}
	return ""
}
