// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// findSteps resolves a field name, or a path through nested structs, to fields,
// or returns why it cannot. options are words that could have been meant instead.
func findSteps(m *model.Message, path string, options ...string) (steps []*model.Field, reason string) {
	for i, name := range strings.Split(path, ".") {
		if m == nil {
			return nil, fmt.Sprintf("%s is not a struct, so it has no field %s", steps[i-1].GoName, name)
		}
		f := m.FindField(name)
		if f == nil {
			return nil, fmt.Sprintf("%s has no field %s", m.GoName, name) + suggestField(m, name, options)
		}
		options = nil
		steps = append(steps, f)
		m = f.Nested()
	}
	return steps, ""
}

// suggestField suggests the field nearest to a misspelt one or, if it is as near, the
// option.
func suggestField(m *model.Message, name string, options []string) string {
	text := tags.Suggest(name, append(slices.Clone(options), m.FieldNames()...))
	for _, option := range options {
		if text == "; did you mean "+option+"?" {
			return "; did you mean the option " + option + "?"
		}
	}
	return text
}
