// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeConstructor writes NewOrder, which takes a struct literal as labelled arguments.
func (e *emitter) writeConstructor(r *model.Record) {
	e.writeConstructorComment(r)
	pointer, literal := e.literalOf(r)
	e.printf("func %s(literal %s%s) *%s {", r.Constructor(), pointer, e.recordType(r), e.recordType(r))
	if r.IDKind != model.IDAssigned {
		e.printf("%s.SetID(&%s, %s)", e.importPackage(model.PersistimplPath), r.SchemaVar(), literal)
	}
	e.printf("return %s\n}\n", literal)
}

// literalOf is how constructors take the literal of a record, and the pointer to it. A
// record that holds a lock cannot be copied, so they take its address.
func (e *emitter) literalOf(r *model.Record) (pointer, literal string) {
	if model.HoldsLock(r.Message.Named) {
		return "*", "literal"
	}
	return "", "&literal"
}

// writeConstructorComment says what ID a new record has.
func (e *emitter) writeConstructorComment(r *model.Record) {
	name, id, result := r.Constructor(), r.IDField.GoName, "a pointer to a copy of the literal"
	if pointer, _ := e.literalOf(r); pointer != "" {
		result = "the literal itself, because it holds a lock"
	}
	if r.IDKind == model.IDAssigned {
		e.printf("// %s returns %s. The caller assigns %s,", name, result, id)
		e.printf("// in the literal or with CreateWithID.")
		return
	}
	e.printf("// %s returns %s, in which it sets %s, %s.", name, result, id, r.IDKind.Describe())
	e.printf("// It panics if the literal's %s is already set: create such a record with CreateWithID.", id)
	if r.IDKind == model.IDKazahana {
		e.printf("// Before persistable.Open, and while several databases are open, %s stays zero,", id)
		e.printf("// and Create makes it; a store's New makes it at once.")
	}
}

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
	e.printf("// With returns the store with options for the transactions of its operations.")
	e.printf("func (s *%s) With(o %s.TransactionOptions) *%s { return &%s{s.Store.In(%s.Options(o))} }\n",
		r.StoreType(), e.importPackage(model.KVPath), r.StoreType(), r.StoreType(), e.importPackage(model.PersistimplPath))
	if r.Deleted() != nil {
		e.writeWithDeleted(r)
	}
	if hasStoreNew(r) {
		e.writeStoreNew(r)
	}
	if r.Versioned {
		e.writeFeed(r, id)
	}
}

// writeWithDeleted writes the method that returns the store with deleted records.
func (e *emitter) writeWithDeleted(r *model.Record) {
	e.printf("// WithDeleted returns the store with the deleted records, those with a %s: it reads them, restores one by", r.Deleted().GoName)
	e.printf("// a write that sets the field to its zero value, and its Delete removes records for good.")
	e.printf("func (s *%s) WithDeleted() *%s { return &%s{%s.WithDeleted(&s.Store)} }\n", r.StoreType(), r.StoreType(), r.StoreType(), e.importPackage(model.PersistimplPath))
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

// hasStoreNew reports whether the store has constructors of its own: a new record gets
// {Field}s or an id.
func hasStoreNew(r *model.Record) bool {
	return len(r.Directory.Fields()) > 0 || r.IDKind != model.IDAssigned
}

// writeStoreNew writes the store's own New and TryNew, which know the path and the database.
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
	persistimpl := e.importPackage(model.PersistimplPath)
	fill := "TryNew"
	if r.IDKind == model.IDAssigned {
		fill = "TryFill"
	}
	fill = fmt.Sprintf("%s.%s(&s.Store, &%s, %s)", persistimpl, fill, r.SchemaVar(), literal)
	e.printf("func (s *%s) New(literal %s%s) *%s {", r.StoreType(), pointer, e.recordType(r), e.recordType(r))
	e.printf("%s.Must(%s)\nreturn %s\n}\n", persistimpl, fill, literal)
	e.printf("// TryNew is New for a literal from outside, such as decoded JSON: where New panics it returns")
	e.printf("// an error, a *persistable.%s.", strings.Join(faultsOfNew(r, len(filled) > 0), " or a *persistable."))
	e.printf("func (s *%s) TryNew(literal %s%s) (*%s, error) {", r.StoreType(), pointer, e.recordType(r), e.recordType(r))
	e.printf("if err := %s; err != nil {\nreturn nil, err\n}\nreturn %s, nil\n}\n", fill, literal)
}

// faultsOfNew names the errors of a literal.
func faultsOfNew(r *model.Record, hasFields bool) (names []string) {
	if hasFields {
		names = append(names, "DirectoryError")
	}
	if r.IDKind != model.IDAssigned {
		names = append(names, "FieldError")
	}
	return names
}

// maxDepth bounds how deep a struct that contains itself may be nested, so
// that neither a cycle of pointers nor hostile bytes exhaust the stack.
const maxDepth = 1000

// tagBytes spells a field's tag as byte literals.
func tagBytes(number int32, wireType int) string {
	var list []string
	tag := uint64(number)<<3 | uint64(wireType)
	for ; tag >= 0x80; tag >>= 7 {
		list = append(list, fmt.Sprintf("%#02x", byte(tag)|0x80))
	}
	return strings.Join(append(list, fmt.Sprintf("0x%02x", tag)), ", ")
}

// writeEncoder writes the append function of a message.
func (e *emitter) writeEncoder(m *model.Message) {
	w := &encoder{emitter: e, m: m}
	for _, f := range m.FieldsByNumber() {
		w.writeField(f)
	}
	depth := ""
	if m.Recursive {
		depth = ", depth int"
	}
	e.printf("// append%s appends v to b in the protobuf wire format.", m.Function)
	e.printf("func append%s(b []byte, v *%s%s) ([]byte, error) {", m.Function, e.typeName(m.Named), depth)
	if m.Recursive {
		e.printf("if depth == 0 {\nreturn nil, &%s.FieldError{Type: %q, Field: %q, Reason: \"it is nested more than %d deep; is there a cycle of pointers?\"}\n}",
			e.importPackage(model.PersistablePath), m.GoName, recursiveField(m), maxDepth)
	}
	if w.usesAt {
		e.printf("var at int")
	}
	if w.usesErr {
		e.printf("var err error")
	}
	e.printer.printf("%s", strings.Join(w.lines, "\n"))
	e.printf("return b, nil\n}\n")
}

// recursiveField is the first field through which a message contains itself.
func recursiveField(m *model.Message) string {
	for _, f := range m.Fields {
		if inner := f.Kind.InnerMessage(); inner == m || inner != nil && model.Reaches(inner, m, map[*model.Message]bool{}) {
			return f.GoName
		}
	}
	return ""
}

// depthArgument is the depth that is left for inner, called from outer.
func depthArgument(outer, inner *model.Message) string {
	switch {
	case !inner.Recursive:
		return ""
	case outer.Recursive:
		return ", depth-1"
	}
	return fmt.Sprintf(", %d", maxDepth)
}

// writeDecoder writes the decode function of a message.
func (e *emitter) writeDecoder(m *model.Message) {
	depth := ""
	if m.Recursive {
		depth = ", depth int"
	}
	e.printf("// decode%s decodes b, in the protobuf wire format, into v. It takes the strings of v from s.", m.Function)
	e.printf("func decode%s(b []byte, v *%s, s *%s.Strings%s) error {", m.Function, e.typeName(m.Named), e.importPackage(model.PersistimplPath), depth)
	if m.Recursive {
		e.printf("if depth == 0 {\nreturn %s.TooDeep(%d)\n}", e.importPackage(model.PersistimplPath), maxDepth)
	}
	e.writeDefaults(m)
	e.printf("r := s.NewReader(b)")
	e.printf("for r.Next() {")
	if len(m.Fields) == 0 {
		e.printf("r.Skip()")
	} else {
		e.printf("switch r.Field() {")
		for _, f := range m.FieldsByNumber() {
			e.printf("case %d:", f.Number)
			e.writeFieldDecoder(m, f)
		}
		e.printf("default:\nr.Skip()\n}")
	}
	e.printf("}\nreturn r.Err()\n}\n")
}

// writeDefaults sets the fields that a record may lack to their defaults.
func (e *emitter) writeDefaults(m *model.Message) {
	for _, f := range m.FieldsByNumber() {
		if f.Default != "" {
			e.printf("%s = %s", f.Selector("v"), f.Default)
		}
	}
}

// writeFieldDecoder writes the body of one case.
func (e *emitter) writeFieldDecoder(m *model.Message, f *model.Field) {
	selector := f.Selector("v")
	switch k := f.Kind; k.Form {
	case model.FormPointer:
		e.decodePointer(m, k.Elem, selector)
	case model.FormSlice:
		e.decodeElement(m, k.Elem, selector)
	case model.FormMap:
		e.decodeEntry(m, k, selector)
	default:
		e.decodeInto(m, k, "r", variable(selector))
	}
}

// decodeInto writes the reading of one value into an addressable place.
func (e *emitter) decodeInto(m *model.Message, k *model.Kind, reader string, v value) {
	switch k.Form {
	case model.FormArray, model.FormUUID, model.FormULID:
		e.printf("%s.Array(%s[:])", reader, v.dot)
	case model.FormMessage:
		e.printf("%s.Check(decode%s(%s.Message(), %s, s%s))", reader, k.Message.Function, reader, v.address, depthArgument(m, k.Message))
	case model.FormBinary, model.FormBlob:
		e.printf("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalBinary(data))\n}", reader, reader, reader, v.dot)
	case model.FormText:
		e.printf("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalText(data))\n}", reader, reader, reader, v.dot)
	default:
		e.printf("%s = %s", v.expr, e.readCall(k, reader))
	}
}

// isInPlace reports whether values of the kind are decoded into a place rather
// than returned.
func isInPlace(k *model.Kind) bool {
	switch k.Form {
	case model.FormArray, model.FormUUID, model.FormULID, model.FormMessage, model.FormBinary, model.FormBlob, model.FormText:
		return true
	}
	return false
}

// readCall is the expression that reads one plain value.
func (e *emitter) readCall(k *model.Kind, reader string) string {
	method, result := "", ""
	switch k.Form {
	case model.FormBool:
		method, result = "Bool()", "bool"
	case model.FormInt:
		method, result = e.sizedCall("Int", "Zigzag", k.Bits), "int64"
	case model.FormUint:
		method, result = e.sizedCall("Uint", "Varint", k.Bits), "uint64"
	case model.FormID:
		method, result = "Fixed64()", "uint64"
	case model.FormFloat32:
		method, result = "Float32()", "float32"
	case model.FormFloat64:
		method, result = "Float64()", "float64"
	case model.FormString:
		method, result = "String()", "string"
	case model.FormBytes:
		return reader + ".Bytes()"
	case model.FormTime:
		return reader + ".Timestamp()"
	case model.FormDuration:
		return reader + ".Duration()"
	default:
		panic(fmt.Sprintf("codegen: no method reads the form %d", k.Form))
	}
	if t := e.typeName(k.GoType); t != result {
		return fmt.Sprintf("%s(%s.%s)", t, reader, method)
	}
	return reader + "." + method
}

// sizedCall is the call that reads an integer of the given bits, 0 for the
// platform's.
func (e *emitter) sizedCall(checked, whole string, bits int) string {
	switch bits {
	case 64:
		return whole + "()"
	case 0:
		return fmt.Sprintf("%s(%s.UintSize)", checked, e.importPackage("math/bits"))
	}
	return fmt.Sprintf("%s(%d)", checked, bits)
}

// decodePointer writes the reading of an optional value.
func (e *emitter) decodePointer(m *model.Message, k *model.Kind, selector string) {
	if isInPlace(k) {
		e.printf("if %s == nil {\n%s = new(%s)\n}", selector, selector, e.typeName(k.GoType))
		e.decodeInto(m, k, "r", pointee(selector))
		return
	}
	e.printf("value := %s\n%s = &value", e.readCall(k, "r"), selector)
}

// decodeElement writes the reading of a repeated field's element, or of a list
// of packed ones.
func (e *emitter) decodeElement(m *model.Message, k *model.Kind, selector string) {
	switch {
	case k.IsScalar():
		names := map[int]string{0: "VarintType", 1: "Fixed64Type", 5: "Fixed32Type"}
		e.printf("for r.Repeated(%s.%s) {\n%s = append(%s, %s)\n}", e.importPackage(model.PersistimplPath), names[k.WireType()], selector, selector, e.readCall(k, "r"))
	case model.HoldsLock(k.GoType):
		e.printf("%s = append(%s, %s{})", selector, selector, e.typeName(k.GoType))
		e.decodeInto(m, k, "r", variable(fmt.Sprintf("%s[len(%s)-1]", selector, selector)))
	case isInPlace(k):
		e.printf("var element %s", e.typeName(k.GoType))
		e.decodeInto(m, k, "r", variable("element"))
		e.printf("%s = append(%s, element)", selector, selector)
	default:
		e.printf("%s = append(%s, %s)", selector, selector, e.readCall(k, "r"))
	}
}

// decodeEntry writes the reading of one entry of a map.
func (e *emitter) decodeEntry(m *model.Message, k *model.Kind, selector string) {
	e.printf("var (\nkey %s\nvalue %s\n)", e.typeName(k.Key.GoType), e.typeName(k.Elem.GoType))
	e.printf("m := s.NewReader(r.Message())")
	e.printf("for m.Next() {\nswitch m.Field() {\ncase 1:")
	e.decodeInto(m, k.Key, "m", variable("key"))
	e.printf("case 2:")
	e.decodeInto(m, k.Elem, "m", variable("value"))
	e.printf("default:\nm.Skip()\n}\n}\nr.Check(m.Err())")
	e.printf("if %s == nil {\n%s = make(%s)\n}\n%s[key] = value", selector, selector, e.typeName(k.GoType), selector)
}

// writeFieldsVar writes OrderFields.
func (e *emitter) writeFieldsVar(r *model.Record) {
	list := r.QueryFields()
	if len(list) == 0 {
		return
	}
	persistable := e.importPackage(model.PersistablePath)
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("// %s are the fields of %s, for conditions of Find and FindOne.", r.FieldsVar(), r.GoName)
	e.printf("var %s = struct {", r.FieldsVar())
	for _, c := range list {
		e.printf("%s %s.Field[*%s, %s]", c.GoName(), persistable, e.recordType(r), e.componentType(c))
	}
	e.printf("}{")
	for _, c := range list {
		e.printf("%s: %s.Field[*%s, %s](%s.NewField(%q, %s)),", c.GoName(), persistable, e.recordType(r), e.componentType(c), persistimpl, c.Name(), e.componentEncoder(c))
	}
	e.printf("}\n")
}
