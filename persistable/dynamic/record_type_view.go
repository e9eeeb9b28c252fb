// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// newFields returns the view of a block's fields.
func (t *recordType) newFields(b *schema.Block) (all []Field) {
	for _, f := range b.Fields {
		argument := b.IsType && strings.Contains(b.Directory, "{"+f.Name+"}")
		all = append(all, Field{f.Number, f.Name, f.Kind, f.Default, append([]string(nil), f.Was...), argument})
	}
	return all
}

// newIndex returns the view of an index.
func (t *recordType) newIndex(keyName, layout string, state index.State) Index {
	v := Index{Name: keyName, KeyName: keyName, Layout: layout, State: state, Foreign: t.foreign[keyName]}
	d, err := index.ParseLayout(keyName, layout)
	if err != nil {
		return v // Foreign says why
	}
	v.Name, v.Kind, v.Unique, v.Fields, v.Descending, v.Of = d.Name, d.Kind, d.Unique, d.Fields, d.Descending, d.Of
	v.Cover, v.CoverFields, v.Where, v.Scatter = d.Cover, d.CoverFields, d.Where, int(d.Scatter)
	return v
}
