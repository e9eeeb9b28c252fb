// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// findSteps resolves a field name, or a path through nested structs, to fields,
// or returns why it cannot.
func findSteps(m *model.Message, path string) (steps []*model.Field, reason string) {
	for i, name := range strings.Split(path, ".") {
		if m == nil {
			return nil, fmt.Sprintf("%s is not a struct, so it has no field %s", steps[i-1].GoName, name)
		}
		f := m.FindField(name)
		if f == nil {
			return nil, fmt.Sprintf("%s has no field %s", m.GoName, name) + suggestField(m, name, i == 0)
		}
		steps = append(steps, f)
		m = f.Nested()
	}
	return steps, ""
}

// suggestField suggests the field nearest to a misspelt one or, in the first place of a
// path, the option cover if that is as near.
func suggestField(m *model.Message, name string, first bool) string {
	words := m.FieldNames()
	if first {
		words = append([]string{"cover"}, words...)
	}
	if text := tags.Suggest(name, words); text != "; did you mean cover?" {
		return text
	}
	return "; did you mean the option cover?"
}
