// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Index is one index of a record.
type Index struct {
	Name       string // as it stands in keys, without "_unique"
	Unique     bool
	Cover      bool
	Scatter    tags.Scatter
	At         token.Position
	Components []*Component
}

// FieldNames joins the names of the components with commas.
func (d *Index) FieldNames() string {
	names := make([]string, len(d.Components))
	for i, one := range d.Components {
		names[i] = one.Name()
	}
	return strings.Join(names, ",")
}

// IndexName is the name of an index in keys: type and names joined by "_",
// underscores inside a name doubled, as index.Name has it.
func IndexName(typ string, names ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	for _, name := range names {
		parts = append(parts, strings.ReplaceAll(name, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// Signature names the kinds of the components, which decide the bytes of keys.
// A field that may be null has another kind, because a record does not store the
// zero of a field that may not: it would be read as null.
func (d *Index) Signature() string {
	kinds := make([]string, len(d.Components))
	for i, one := range d.Components {
		kinds[i] = one.Element.KeyText()
		if one.Nullable {
			kinds[i] = "*" + kinds[i]
		}
		if one.Slice {
			kinds[i] = "[]" + kinds[i]
		}
	}
	return strings.Join(kinds, ",")
}

// LockSignature names all that the entries of the index depend on.
func (d *Index) LockSignature() string {
	text := d.FieldNames() + " " + d.Signature()
	if d.Cover {
		text += " cover"
	}
	if d.Scatter.Shards != 0 {
		text += " scatter=" + d.Scatter.Text()
	}
	return text
}

// Key is the index's name in keys and in persist.lock.
func (d *Index) Key() string {
	if d.Unique {
		return d.Name + "_unique"
	}
	return d.Name
}

// SparseFields names the components that keep a record out of the index: by a null in
// a unique index, or by an empty slice.
func (d *Index) SparseFields() []string {
	var names []string
	for _, c := range d.Components {
		if c.Slice || d.Unique && c.Nullable {
			names = append(names, c.Name())
		}
	}
	return names
}
