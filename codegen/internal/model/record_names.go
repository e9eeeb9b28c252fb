// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"
)

// matchCase spells a generated name in upper case if the type is exported.
func (r *Record) matchCase(name string) string {
	if token.IsExported(r.GoName) {
		return name
	}
	return Unexported(name)
}

func (r *Record) Constructor() string { return r.matchCase("New" + Exported(r.GoName)) }

func (r *Record) StoreType() string { return r.GoName + "Store" }

func (r *Record) StoreOf() string { return r.GoName + "StoreOf" }

func (r *Record) FieldsVar() string { return r.GoName + "Fields" }

func (r *Record) SchemaVar() string { return Unexported(r.GoName) + "Schema" }

// Declarations are the package-level names that are generated for a record.
func (r *Record) Declarations() []string {
	names := []string{r.Constructor(), r.StoreType(), r.StoreOf(), r.SchemaVar()}
	if len(r.QueryFields()) > 0 {
		names = append(names, r.FieldsVar())
	}
	groups := map[string]bool{}
	for _, d := range r.Indexes {
		if len(d.CoverFields) > 0 {
			names = append(names, d.RowType(r), Reader(d.RowType(r)))
		}
		if group := GroupType(r, d.Components); d.HasGroups() && !groups[group] {
			groups[group] = true
			names = append(names, group, Reader(group))
		}
	}
	return names
}

// QueryFields are the distinct fields that conditions of Find can name: those of the
// indexes, and of the predicates that a condition may imply.
func (r *Record) QueryFields() (list []*Component) {
	seen := map[string]bool{}
	for _, d := range r.Indexes {
		if d.Kind != Value {
			continue
		}
		for _, c := range append(d.Components[:len(d.Components):len(d.Components)], d.Where.Components()...) {
			if !seen[c.GoName()] && !c.isOpaque() {
				seen[c.GoName()] = true
				list = append(list, c)
			}
		}
	}
	return list
}
