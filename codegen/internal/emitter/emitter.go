// SPDX-License-Identifier: Apache-2.0

// Package emitter writes the generated files of a model: the Go code of stores, codecs
// and schemas, and the .proto file. The output depends on the model alone.
package emitter

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// emitter writes the parts of a generated file.
type emitter struct {
	*printer
	model *model.Package
	extra map[string]func() // functions for the end of the file, by name
}

// Code returns the generated file of a package. It also returns the predeclared names, such
// as len, that the file needs and the package hides: with those it does not compile.
func Code(p *model.Package) (content []byte, hidden []string, err error) {
	e := &emitter{printer: newPrinter(p), model: p}
	for _, r := range p.Records {
		e.writeRecord(r)
	}
	for _, m := range p.Messages {
		e.writeMessage(m)
	}
	for _, name := range slices.Sorted(maps.Keys(e.extra)) {
		e.extra[name]()
	}
	var out bytes.Buffer
	out.WriteString(output.GeneratedHeader + "\n\n")
	if p.Constraint != "" {
		fmt.Fprintf(&out, "//go:build %s\n\n", p.Constraint)
	}
	persistimpl := e.importPackage(model.PersistimplPath)
	fmt.Fprintf(&out, "package %s\n\n%s\n", p.Name, e.importDeclaration())
	fmt.Fprintf(&out, "// If this does not compile, run go generate: the file was generated for another\n// version of the run-time.\nconst _ = %s.Version6\n\n", persistimpl)
	out.Write(e.body.Bytes())
	named, hidden := e.nameVariables(out.Bytes())
	formatted, err := format.Source(named)
	if err != nil {
		return nil, nil, fmt.Errorf("persistgen: the generated code of %s does not parse, which is a fault of persistgen: %w", p.Path, err)
	}
	return formatted, hidden, nil
}

// writeRecord writes all that a persistable type has.
func (e *emitter) writeRecord(r *model.Record) {
	e.writeConstructor(r)
	e.writeStore(r)
	for i, d := range r.Indexes {
		for _, m := range model.QueryMethods(d) {
			e.writeQueryMethod(r, d, i, m)
		}
	}
	referenceWriter{e}.writeReferences(r)
	e.writeFieldsVar(r)
	e.writeGroupTypes(r)
	e.writeRowTypes(r)
	e.writeSchema(r)
}

// writeMessage writes the codec of a struct.
func (e *emitter) writeMessage(m *model.Message) {
	e.writeEncoder(m)
	e.writeDecoder(m)
	if m.IsBounded() {
		(&checkFunction{e, m}).write()
	}
	e.writeKnown(m)
}

// packageNames are the names of the packages that generated functions use in
// their bodies: the run-time's, and those of the fields' types. Parameters
// must not hide them.
func packageNames(p *model.Package) map[string]bool {
	names := map[string]bool{"persistable": true, "persistimpl": true, "idgen": true, "strconv": true, "iter": true}
	for _, m := range p.Messages {
		for _, s := range m.Literal {
			addPackageNames(s, names)
		}
	}
	return names
}

func addPackageNames(s *model.Slot, names map[string]bool) {
	types.TypeString(s.Type, func(p *types.Package) string {
		names[p.Name()] = true
		return ""
	})
	for _, inner := range s.Embedded {
		addPackageNames(inner, names)
	}
}

// parameterNames spells names as parameters that hide no package, keyword or predeclared
// identifier, nothing that the package declares, none of the names given, and not each
// other.
func (e *emitter) parameterNames(goNames []string, others ...string) []string {
	packages, taken := packageNames(e.model), map[string]bool{}
	for _, name := range others {
		taken[name] = true
	}
	names := make([]string, len(goNames))
	for i, goName := range goNames {
		name := model.Unexported(goName)
		if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || taken[name] || packages[name] || e.declared[name] {
			name += "Value"
		}
		for e.declared[name] {
			name += "Value"
		}
		names[i] = model.FreeName(name, taken)
	}
	return names
}

// localNames are the variables of generated functions, but for parameters that are named
// after fields.
var localNames = []string{
	"b", "v", "s", "r", "k", "e", "i", "at", "n", "p", "ok", "id", "db", "tx", "ctx", "err", "args", "key", "value", "element", "depth", "data", "m",
	"record", "row", "reason", "rest", "sum", "entry", "literal", "field", "got", "version", "list",
}

// declaredNames are the names that the package declares, in its source and in the
// generated code.
func declaredNames(p *model.Package) map[string]bool {
	names := map[string]bool{}
	for _, name := range p.Types.Scope().Names() {
		names[name] = true
	}
	for _, m := range p.Messages {
		for _, name := range m.Declarations() {
			names[name] = true
		}
	}
	return names
}

// typeMark begins the names of the package's own types while the code is written. So
// they are told from variables of the same names until [emitter.nameVariables] has given
// those others.
const typeMark = "\u01c3"

// recordType is the expression of a record's type.
func (e *emitter) recordType(r *model.Record) string { return e.typeName(r.Message.Named) }

// nameVariables gives the variables of functions other names where the package declares
// the usual ones, and removes the marks of types. It also returns the predeclared names
// that the code needs and the package hides.
func (e *emitter) nameVariables(code []byte) (named []byte, hidden []string) {
	free := map[string]string{}
	for _, name := range localNames {
		if e.declared[name] {
			free[name] = model.FreeName(name, e.taken)
		}
	}
	var out bytes.Buffer
	found := map[string]bool{}
	written := 0
	for at, name := range identifiers(code) {
		if other := free[name]; other != "" {
			out.Write(code[written:at])
			out.WriteString(other)
			written = at + len(name)
		} else if e.hides(name) && !found[name] {
			found[name] = true
			hidden = append(hidden, name)
		}
	}
	out.Write(code[written:])
	return bytes.ReplaceAll(out.Bytes(), []byte(typeMark), nil), hidden
}

// hides reports whether the package declares a predeclared name as something else.
func (e *emitter) hides(name string) bool {
	predeclared, own := types.Universe.Lookup(name), e.home.Scope().Lookup(name)
	return predeclared != nil && own != nil && !isAliasOf(own, predeclared)
}

// isAliasOf reports whether an object is a type that only has another name, as any had
// in older code.
func isAliasOf(own, predeclared types.Object) bool {
	name, ok := own.(*types.TypeName)
	return ok && name.IsAlias() && types.Identical(types.Unalias(name.Type()), types.Unalias(predeclared.Type()))
}

// identifiers yields the identifiers of code that are neither selected from something nor
// the name of the package, with their offsets.
func identifiers(code []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		fset := token.NewFileSet()
		file := fset.AddFile("", fset.Base(), len(code))
		var s scanner.Scanner
		s.Init(file, code, nil, 0)
		for before := token.ILLEGAL; ; {
			pos, kind, text := s.Scan()
			if kind == token.EOF || kind == token.IDENT && before != token.PERIOD && before != token.PACKAGE && !yield(file.Offset(pos), text) {
				return
			}
			before = kind
		}
	}
}

// componentType is the type of a component's parameter.
func (e *emitter) componentType(c *model.Component) string {
	if c.Nullable {
		return "*" + e.typeName(c.Element.GoType)
	}
	return e.typeName(c.Element.GoType)
}

// componentEncoder is the function value that appends a component to a key, in ascending
// order.
func (e *emitter) componentEncoder(c *model.Component) string {
	encoder := e.keyEncoder(c.Element)
	if c.Nullable {
		return fmt.Sprintf("%s.Nullable(%s)", e.importPackage(model.PersistimplPath), encoder)
	}
	return encoder
}

// componentKey is the call that appends a parameter to a key, in the order of the key.
func (e *emitter) componentKey(c *model.Component, buffer, value string) string {
	if c.Descending {
		return fmt.Sprintf("%s.Descending(%s)(%s, %s)", e.importPackage(model.PersistimplPath), e.componentEncoder(c), buffer, value)
	}
	return e.ascendingKey(c, buffer, value)
}

// ascendingKey is componentKey for a component in ascending order.
func (e *emitter) ascendingKey(c *model.Component, buffer, value string) string {
	if c.Nullable {
		return fmt.Sprintf("%s.AppendNullable(%s, %s, %s)", e.importPackage(model.PersistimplPath), buffer, value, e.keyEncoder(c.Element))
	}
	return e.appendKey(c.Element, buffer, value)
}

// componentParameters names the parameters of an index method, which has the others besides.
func (e *emitter) componentParameters(components []*model.Component, others ...string) []string {
	var goNames []string
	for _, c := range components {
		goNames = append(goNames, c.GoName())
	}
	return e.parameterNames(goNames, append(others, "s", "k", "ctx")...)
}

// keyExpression is the expression of the packed values of parameters. For more than one
// it writes statements that append them to a variable.
func (e *emitter) keyExpression(components []*model.Component, names []string) string {
	switch len(components) {
	case 0:
		return "nil"
	case 1:
		return e.componentKey(components[0], "nil", names[0])
	}
	e.printf("k := %s", e.componentKey(components[0], "nil", names[0]))
	for n, c := range components[1:] {
		e.printf("k = %s", e.componentKey(c, "k", names[n+1]))
	}
	return "k"
}

// knownUse tells which variables with field numbers a message needs.
type knownUse struct{ value, pointer bool }

// knownUses finds them: a record's own, and those of messages nested once.
func knownUses(p *model.Package) map[*model.Message]knownUse {
	uses := map[*model.Message]knownUse{}
	var visit func(m *model.Message)
	visit = func(m *model.Message) {
		for _, f := range m.Fields {
			inner := f.Nested()
			if inner == nil {
				continue
			}
			use := uses[inner]
			seen := use.value || use.pointer
			if f.Kind.Form == model.FormPointer {
				use.pointer = true
			} else {
				use.value = true
			}
			uses[inner] = use
			if !seen {
				visit(inner)
			}
		}
	}
	for _, r := range p.Records {
		use := uses[r.Message]
		seen := use.value || use.pointer
		use.value = true
		uses[r.Message] = use
		if !seen {
			visit(r.Message)
		}
	}
	return uses
}

// writeKnown writes the variables with the field numbers of a message.
func (e *emitter) writeKnown(m *model.Message) {
	use := knownUses(e.model)[m]
	var names []string
	if use.value {
		names = append(names, m.KnownVar())
		e.writeKnownVariable(m, m.KnownVar(), "", "")
	}
	if use.pointer {
		names = append(names, m.KnownVar()+"Optional")
		e.writeKnownVariable(m, m.KnownVar()+"Optional", ", Optional: true", ", where it may be absent")
	}
	nested := e.knownMessages(m)
	if len(names) == 0 || nested == "" || !m.Recursive {
		return
	}
	e.printf("func init() { // not in the declaration, which would refer to itself")
	for _, name := range names {
		e.printf("%s.Messages = %s", name, nested)
	}
	e.printf("}\n")
}

// writeKnownVariable writes one of the variables.
func (e *emitter) writeKnownVariable(m *model.Message, name, optional, comment string) {
	var numbers []string
	for _, f := range m.FieldsByNumber() {
		numbers = append(numbers, fmt.Sprint(f.Number))
	}
	text := fmt.Sprintf("Numbers: []int32{%s}", strings.Join(numbers, ", "))
	if nested := e.knownMessages(m); nested != "" && !m.Recursive {
		text += ", Messages: " + nested
	}
	e.printf("// %s are the fields of %s that this code knows%s; others survive a Save.", name, m.GoName, comment)
	e.printf("var %s = %s.FieldSet{%s%s}\n", name, e.importPackage(model.PersistimplPath), text, optional)
}

// knownMessages is the map of the messages nested once, or "".
func (e *emitter) knownMessages(m *model.Message) string {
	var nested []string
	for _, f := range m.FieldsByNumber() {
		inner := f.Nested()
		if inner == nil {
			continue
		}
		name := inner.KnownVar()
		if f.Kind.Form == model.FormPointer {
			name += "Optional"
		}
		nested = append(nested, fmt.Sprintf("%d: &%s", f.Number, name))
	}
	if len(nested) == 0 {
		return ""
	}
	return fmt.Sprintf("map[int32]*%s.FieldSet{%s}", e.importPackage(model.PersistimplPath), strings.Join(nested, ", "))
}

// writeSchemaHooks writes the calls of the methods that the record has for them.
func (e *emitter) writeSchemaHooks(r *model.Record) {
	if len(r.Hooks) == 0 {
		return
	}
	e.printf("Hooks: %s.Hooks{", e.importPackage(model.PersistimplPath))
	for _, h := range r.Hooks {
		e.writeHook(r, h)
	}
	e.printf("},")
}

// writeHook writes the call of one method.
func (e *emitter) writeHook(r *model.Record, h model.HookMethod) {
	record := e.recordType(r)
	switch h.Form {
	case model.HookPlain:
		e.printf("%s: func(record any) error { return record.(*%s).%s() },", h.Hook, record, h.Hook)
	case model.HookAfter:
		e.printf("%s: func(ctx %s.Context, record any) { record.(*%s).%s(ctx) },", h.Hook, e.importPackage("context"), record, h.Hook)
	case model.HookInTransaction:
		field := string(h.Hook)
		if len(h.Hook.Forms()) > 1 {
			field += "In"
		}
		e.printf("%s: func(ctx %s.Context, tx, record any) error {\nreturn record.(*%s).%s(ctx, tx.(%s.Tx))\n},",
			field, e.importPackage("context"), record, h.Hook, e.importPackage(model.PersistablePath))
	}
}

// writeSchemaStamps writes what gives the run-time the fields with the options created and updated.
func (e *emitter) writeSchemaStamps(r *model.Record) {
	arguments := []string{"nil", "nil"}
	for i, option := range []string{schema.Created, schema.Updated} {
		if f := r.Message.Stamped(option); f != nil {
			arguments[i] = "&" + f.Selector("v")
		}
	}
	if created, updated := arguments[0], arguments[1]; created != updated {
		e.printf("Stamp: func(record any, set func(created, updated *%s.Time)) {\nv := record.(*%s)\nset(%s, %s)\n},", e.importPackage("time"), e.recordType(r), e.timePointer(r, schema.Created, created), e.timePointer(r, schema.Updated, updated))
	}
}

// writeSchemaDeletion writes what gives the run-time the field with the option deleted.
func (e *emitter) writeSchemaDeletion(r *model.Record) {
	f := r.Deleted()
	if f == nil {
		return
	}
	function, pointer := "DeletionTime", "*"
	if f.Kind.Form == model.FormPointer {
		function, pointer = "DeletionPointer", "**"
	}
	e.printf("Deletion: %s.%s(%q, func(record any) %s%s.Time { return &%s }),", e.importPackage(model.PersistimplPath), function, f.Name,
		pointer, e.importPackage("time"), f.Selector("record.(*"+e.recordType(r)+")"))
}

// timePointer converts the pointer to a field of a named type.
func (e *emitter) timePointer(r *model.Record, option, pointer string) string {
	f := r.Message.Stamped(option)
	if f == nil || e.typeName(f.Kind.GoType) == e.importPackage("time")+".Time" {
		return pointer
	}
	return fmt.Sprintf("(*%s.Time)(%s)", e.importPackage("time"), pointer)
}
