// SPDX-License-Identifier: Apache-2.0

package codegen

import "strings"

// typeOptions are what a Type marker says.
type typeOptions struct {
	name    string // "" if it only scatters
	scatter scatter
}

// parseTypeOptions reads a Type marker: the name, the option scatter, or both.
func parseTypeOptions(t tag) (o typeOptions, found []fault) {
	words := t.words()
	if len(words) == 0 {
		return o, []fault{{t.offset(0), "the type name is empty"}}
	}
	for i, w := range words {
		switch {
		case w.key == "scatter" && (w.hasValue || i > 0):
			if o.scatter.shards != 0 {
				found = append(found, fault{w.at, "option scatter is given twice"})
				continue
			}
			s, message := parseScatter(w)
			if message != "" {
				found = append(found, fault{w.scatterAt(), message})
			}
			o.scatter = s
		case i > 0:
			found = append(found, fault{w.at, "a persistable.Type marker holds the type's name and the option scatter=N; nothing else" + meantScatter(w)})
		default:
			if message := checkName(w.text); message != "" {
				found = append(found, fault{w.at, message})
				continue
			}
			o.name = w.text
		}
	}
	return o, found
}

// meantScatter suggests the option scatter for what is nearly it.
func meantScatter(w word) string {
	if text := didYouMean(w.key, []string{"scatter="}); strings.Contains(text, "mean") {
		return text
	}
	return ""
}
