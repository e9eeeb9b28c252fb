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
	if len(r.Indexes) > 0 {
		names = append(names, r.FieldsVar())
	}
	return names
}
