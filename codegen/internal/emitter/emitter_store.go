// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeStore writes the store type, its constructor, In and New.
func (e *emitter) writeStore(r *model.Record) {
	persistable, id := e.importPackage(model.PersistablePath), e.typeName(r.IDField.Kind.GoType)
	e.printf("// %s holds the records of type %s of one directory.", r.StoreType(), r.GoName)
	e.printf("type %s struct {\n\t%s.Store[*%s, %s]\n}\n", r.StoreType(), persistable, e.recordType(r), id)
	fields := r.Directory.Fields()
	names := e.parameterOfField(fields)
	signature := "db *" + persistable + ".DB"
	if len(fields) > 0 {
		signature += ", " + e.signature(fields, names)
	}
	e.printf("// %s returns the store of the directory %s.", r.StoreOf(), r.Directory)
	e.printf("func %s(%s) *%s {", r.StoreOf(), signature, r.StoreType())
	e.printf("return &%s{%s.NewStore[*%s, %s](db, &%s%s)}\n}\n", r.StoreType(), e.importPackage(model.PersistimplPath), e.recordType(r), id, r.SchemaVar(), e.storeArguments(r, names))
	e.printf("// In returns the store bound to a transaction.")
	e.printf("func (s *%s) In(tx %s.Tx) *%s { return &%s{s.Store.In(tx)} }\n", r.StoreType(), persistable, r.StoreType(), r.StoreType())
	if hasStoreNew(r) {
		e.writeStoreNew(r)
	}
	if r.Versioned {
		e.writeFeed(r, id)
	}
}

// writeFeed writes what only the store of a type with versions has.
func (e *emitter) writeFeed(r *model.Record, id string) {
	persistable := e.importPackage(model.PersistablePath)
	e.printf("// Feed returns the changes of the records in this directory.")
	e.printf("func (s *%s) Feed() *%s.Feed[*%s, %s] { return %s.FeedOf(&s.Store) }\n", r.StoreType(), persistable, e.recordType(r), id, persistable)
	e.printf("// SaveIfVersion saves v if the stored record still has that version; see [persistable.Feed.SaveIfVersion].")
	e.printf("func (s *%s) SaveIfVersion(ctx %s.Context, version %s.Version, v *%s) error {", r.StoreType(), e.importPackage("context"), persistable, e.recordType(r))
	e.printf("return s.Feed().SaveIfVersion(ctx, version, v)\n}\n")
}

// parameterOfField names the parameter of each {Field} of a directory.
func (e *emitter) parameterOfField(fields []*model.Field) map[*model.Field]string {
	var goNames []string
	for _, f := range fields {
		goNames = append(goNames, f.GoName)
	}
	names := map[*model.Field]string{}
	list := e.parameterNames(goNames, "db")
	for i, f := range fields {
		names[f] = list[i]
	}
	return names
}

// signature lists the parameters of the fields, neighbours of one type joined.
func (e *emitter) signature(fields []*model.Field, names map[*model.Field]string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(names[f])
		if i+1 == len(fields) || !types.Identical(f.Kind.GoType, fields[i+1].Kind.GoType) {
			b.WriteString(" " + e.typeName(f.Kind.GoType))
		}
	}
	return b.String()
}

// storeArguments lists the directory arguments, one per {Field} of the path.
func (e *emitter) storeArguments(r *model.Record, names map[*model.Field]string) string {
	var b strings.Builder
	for _, element := range r.Directory.Elements {
		if element.Bound != nil {
			b.WriteString(", " + e.argumentOf(element.Bound, names[element.Bound]))
		}
	}
	return b.String()
}

// argumentOf is the expression of a {Field}'s value as a string.
func (e *emitter) argumentOf(f *model.Field, value string) string {
	t := f.Kind
	switch t.Form {
	case model.FormInt, model.FormID:
		return fmt.Sprintf("%s.FormatInt(int64(%s), 10)", e.importPackage("strconv"), value)
	case model.FormUint:
		return fmt.Sprintf("%s.FormatUint(uint64(%s), 10)", e.importPackage("strconv"), value)
	}
	if e.typeName(t.GoType) == "string" {
		return value
	}
	return fmt.Sprintf("string(%s)", value)
}

// hasStoreNew reports whether the store has a New of its own: it fills {Field}s, or makes
// ids that only its own database can make.
func hasStoreNew(r *model.Record) bool {
	return len(r.Directory.Fields()) > 0 || r.IDKind == model.IDKazahana
}

// writeStoreNew writes the store's own New, which knows the path and the database.
func (e *emitter) writeStoreNew(r *model.Record) {
	var filled []string
	for _, f := range r.Directory.Fields() {
		filled = append(filled, f.GoName)
	}
	if len(filled) > 0 {
		e.printf("// New is %s for this store's directory: it fills %s.", r.Constructor(), strings.Join(filled, ", "))
		e.printf("// A literal that says another directory panics.")
	} else {
		e.printf("// New is %s for this store.", r.Constructor())
	}
	if r.IDKind == model.IDKazahana {
		e.printf("// The ID is one of the store's own database.")
	}
	pointer, literal := e.literalOf(r)
	e.printf("func (s *%s) New(literal %s%s) *%s {", r.StoreType(), pointer, e.recordType(r), e.recordType(r))
	fill := "FillNew"
	if r.IDKind == model.IDAssigned {
		fill = "FillArgs"
	}
	e.printf("%s.%s(&s.Store, &%s, %s)", e.importPackage(model.PersistimplPath), fill, r.SchemaVar(), literal)
	e.printf("return %s\n}\n", literal)
}
