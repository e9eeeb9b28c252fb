// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Schema describes a type of records as the program declares it, for tools: what is stored
// under which names, and which indexes there are. [SchemaOf] returns it. What the header
// of a stored directory says, which a newer program may have written, is the Schema of package
// dynamic.
type Schema struct {
	// Type is the type's name in keys: that of the marker [Type], otherwise the struct's.
	Type string
	// Directory is the path of the records, such as "tenants/{TenantID}(partition)/orders":
	// {TenantID} stands for the value of that field, and (partition) is the layer.
	Directory string
	// Fields are the stored fields by number, the id among them.
	Fields []SchemaField
	// Indexes are the indexes, of all kinds.
	Indexes []index.Definition
	// Text is the type's block of persist.lock, with the structs nested in its fields.
	Text string
}

// SchemaField is a stored field of a type.
type SchemaField struct {
	Number  int32
	Name    string // in the struct, unless the option name=… says another
	Kind    string // one of those in docs/layout.md: int64, *string, []message(Address), …
	Default string // the value in a record that was stored without the field, a Go literal; "" for the zero value
}

// SchemaOf returns the description of a store's type, a copy. It reads nothing and needs no
// database: SchemaOf(&OrderStoreOf(nil, "").Store) has the description as well. The zero store
// has the zero Schema.
//
// SchemaOf is a function, not a method: a program that does not call it does not compile it for
// each type.
func SchemaOf[T, ID any](s *Store[T, ID]) Schema { return newSchema((*erased.Store[ID])(s).Schema()) }

func newSchema(s *erased.Schema) (d Schema) {
	if s == nil {
		return d
	}
	d.Type, d.Text = s.Type, s.Lock
	if lock, err := s.Parsed(); err == nil { // each operation of the store returns the error
		d.Directory = lock.Type().Directory
		for _, f := range lock.Type().Fields {
			if !f.Reserved {
				d.Fields = append(d.Fields, SchemaField{f.Number, f.Name, f.Kind, f.Default})
			}
		}
	}
	for _, ix := range s.Indexes {
		for _, names := range []*[]string{&ix.Fields, &ix.Descending, &ix.CoverFields, &ix.Sparse} {
			*names = slices.Clone(*names)
		}
		d.Indexes = append(d.Indexes, ix)
	}
	return d
}
