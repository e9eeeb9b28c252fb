// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchema writes the variable that tells the run-time about a type.
func (e *emitter) writeSchema(r *model.Record) {
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("// %s is what the run-time knows of %s.", r.SchemaVar(), r.GoName)
	e.printf("var %s = %s.Schema{", r.SchemaVar(), persistimpl)
	e.printf("Type: %q,", r.Name)
	e.printf("Directory: []%s.PathElement{%s},", persistimpl, pathElements(r.Directory))
	if r.Scatter.Shards != 0 {
		e.printf("Scatter: %d,", r.Scatter.Shards)
	}
	e.printf("Lock: %s,", rawString(r.Lock))
	e.printf("Tags: %#x,", r.Message.Tags())
	e.printf("IDs: %s,", e.idExpression(r))
	e.printf("ID: func(v any) any { return &%s },", r.IDField.Selector(fmt.Sprintf("v.(*%s)", e.recordType(r))))
	if len(r.Directory.Fields()) > 0 {
		e.writeCheckArgs(r)
		e.writeFillArgs(r)
	}
	e.writeSchemaCodec(r)
	e.writeSchemaStamps(r)
	e.writeSchemaDeletion(r)
	e.writeSchemaHooks(r)
	if r.VersionField != "" {
		e.printf("Version: func(record any) *[12]byte { return (*[12]byte)(&record.(*%s).%s) },", e.recordType(r), r.VersionField)
	}
	e.writeSchemaIndexes(r)
	e.writeSchemaValues(r)
	e.printf("}\n")
}

// rawString spells a text of several lines as a literal.
func rawString(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

func pathElements(d model.Directory) string {
	var list []string
	for _, element := range d.Elements {
		switch {
		case element.Field == "":
			list = append(list, fmt.Sprintf("{Name: %q}", element.Name))
		case element.Layer != "":
			list = append(list, fmt.Sprintf("{Field: %q, Layer: %q}", element.Field, element.Layer))
		default:
			list = append(list, fmt.Sprintf("{Field: %q}", element.Field))
		}
	}
	return strings.Join(list, ", ")
}

// idExpression is the expression of how IDs are made, recognized and packed.
func (e *emitter) idExpression(r *model.Record) string {
	persistimpl, id, k := e.importPackage(model.PersistimplPath), e.typeName(r.IDField.Kind.GoType), r.IDField.Kind
	makeID := ""
	switch r.IDKind {
	case model.IDKazahana:
		return persistimpl + ".KazahanaIDs"
	case model.IDULID:
		return persistimpl + ".ULIDs"
	case model.IDULIDString:
		if types.Identical(k.GoType, types.Typ[types.String]) {
			return persistimpl + ".ULIDStrings"
		}
		makeID = fmt.Sprintf("New: %s.NewULIDString[%s], ", persistimpl, id)
	case model.IDUUID:
		makeID = fmt.Sprintf("New: %s.NewUUID[%s], ", persistimpl, id)
	}
	return fmt.Sprintf("&%s.IDs[%s]{%s%sAppend: %s, Parse: %s}", persistimpl, id, makeID, e.isZeroID(k, id), e.keyEncoder(k), e.keyDecoder(k))
}

// isZeroID is the element of an IDs literal that recognizes an ID that was not
// set, or "" where every value is an ID.
func (e *emitter) isZeroID(k *model.Kind, id string) string {
	switch k.Form {
	case model.FormBool, model.FormFloat32, model.FormFloat64:
		return ""
	case model.FormBytes:
		return fmt.Sprintf("IsZero: func(id %s) bool { return len(id) == 0 }, ", id)
	default:
		return fmt.Sprintf("IsZero: %s.IsZero[%s], ", e.importPackage(model.PersistimplPath), id)
	}
}

// writeCheckArgs writes the comparison of a record's {Field}s with a store's
// arguments.
func (e *emitter) writeCheckArgs(r *model.Record) {
	e.printf("CheckArgs: func(record any, args []string) (field, got string, ok bool) {\nv := record.(*%s)", e.recordType(r))
	i := 0
	for _, element := range r.Directory.Elements {
		if element.Bound == nil {
			continue
		}
		value := e.argumentOf(element.Bound, element.Bound.Selector("v"))
		e.printf("if got := %s; got != args[%d] {\nreturn %q, got, false\n}", value, i, element.Field)
		i++
	}
	e.printf("return \"\", \"\", true\n},")
}

// writeFillArgs writes what sets a record's zero {Field}s to a store's arguments.
func (e *emitter) writeFillArgs(r *model.Record) {
	e.printf("FillArgs: func(record any, args []string) {\nv := record.(*%s)", e.recordType(r))
	i := 0
	for _, element := range r.Directory.Elements {
		if element.Bound == nil {
			continue
		}
		fill := "FillString"
		switch element.Bound.Kind.Form {
		case model.FormInt, model.FormID:
			fill = "FillInt"
		case model.FormUint:
			fill = "FillUint"
		}
		e.printf("%s.%s(&%s, args[%d])", e.importPackage(model.PersistimplPath), fill, element.Bound.Selector("v"), i)
		i++
	}
	e.printf("},")
}

// writeSchemaCodec writes the functions that encode and decode the record.
func (e *emitter) writeSchemaCodec(r *model.Record) {
	m, depth := r.Message, ""
	if m.Recursive {
		depth = fmt.Sprintf(", %d", maxDepth)
	}
	e.printf("Encode: func(b []byte, v any) ([]byte, error) { return append%s(b, v.(*%s)%s) },", m.Function, e.recordType(r), depth)
	e.printf("Decode: func(b []byte, s *%s.Strings) (any, error) {\nv := new(%s)\nreturn v, decode%s(b, v, s%s)\n},", e.importPackage(model.PersistimplPath), e.recordType(r), m.Function, depth)
	e.printf("Known: &%s,", m.KnownVar())
	if m.IsBounded() {
		e.printf("Check: func(v any) (field, reason string) { return check%s(v.(*%s)%s) },", m.Function, e.recordType(r), depth)
	}
}

// writeSchemaValues writes what appends the value of a field that conditions can name.
func (e *emitter) writeSchemaValues(r *model.Record) {
	fields := r.QueryFields()
	if len(fields) == 0 {
		return
	}
	e.printf("Values: func(field string, b []byte, record any) []byte {\nv := record.(*%s)\nswitch field {", e.recordType(r))
	for _, c := range fields {
		e.printf("case %q:", c.Name())
		e.writeValue(c)
	}
	e.printf("}\nreturn b\n},")
}

// writeValue appends the value of a component to b; of a slice, each element.
func (e *emitter) writeValue(c *model.Component) {
	switch {
	case c.Slice:
		e.printf("for _, element := range %s {\nb = %s\n}", c.Selector(), e.appendKey(c.Element, "b", "element"))
	case c.Nullable:
		e.printf("if %s {\nb = %s.AppendNil(b)\n} else {\nb = %s\n}", strings.Join(c.NullConditions(), " || "),
			e.importPackage(model.TuplePath), e.appendKey(c.Element, "b", c.Value()))
	default:
		e.printf("b = %s", e.appendKey(c.Element, "b", c.Value()))
	}
}

// writeSchemaIndexes writes the indexes, the entries that a record has in them, and the
// fields that entries copy.
func (e *emitter) writeSchemaIndexes(r *model.Record) {
	if len(r.Indexes) == 0 {
		return
	}
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("Indexes: []%s.Index{", persistimpl)
	for _, d := range r.Indexes {
		e.writeDefinition(d)
	}
	e.printf("},")
	usesRecord := slices.ContainsFunc(r.Indexes, func(d *model.Index) bool { return len(d.Components) > 0 || d.Of != nil || d.Where != nil })
	e.printf("Entries: func(i int, e *%s.Entries, record any) {", persistimpl)
	if usesRecord {
		e.printf("v := record.(*%s)", e.recordType(r))
	}
	e.printf("switch i {")
	for i, d := range r.Indexes {
		e.printf("case %d:", i)
		e.writeEntries(d)
	}
	e.printf("}\n},")
	e.writeCovers(r)
}

// writeDefinition writes the definition of an index.
func (e *emitter) writeDefinition(d *model.Index) {
	text := fmt.Sprintf("{Name: %q", d.Name)
	add := func(name string, set bool, value any) {
		if set {
			text += fmt.Sprintf(", %s: %#v", name, value)
		}
	}
	var names []string
	for _, c := range d.Components {
		names = append(names, c.Name())
	}
	add("Kind", d.Kind.Name != "", d.Kind.Name)
	add("Fields", len(names) > 0, names)
	if d.Of != nil {
		add("Of", true, d.Of.Name())
	}
	add("Descending", len(d.Descending()) > 0, d.Descending())
	add("Folded", len(d.Folded()) > 0, d.Folded())
	add("Unique", d.Unique, true)
	add("Cover", d.Cover, true)
	add("CoverFields", len(d.CoverFields) > 0, d.CoverNames())
	add("Where", d.Where != nil, d.Where.Text())
	add("Scatter", d.Scatter.Shards != 0, d.Scatter.Shards)
	add("Sparse", len(d.SparseFields()) > 0, d.SparseFields())
	add("Signature", d.Signature() != "", d.Signature())
	e.printf("%s},", text)
}

// writeEntries writes the body of Entries: one entry, or one per element of a slice, if
// the record fulfils the condition of the index.
func (e *emitter) writeEntries(d *model.Index) {
	if d.Kind == model.Search {
		e.writeTexts(d)
		return
	}
	var closing []string
	open := func(format string, args ...any) {
		e.printf(format, args...)
		closing = append(closing, "}")
	}
	if d.Where != nil {
		open("if %s {", d.Where.Condition())
	}
	if d.Of != nil && d.Of.Nullable {
		var conditions []string
		for _, null := range d.Of.NullConditions() {
			conditions = append(conditions, strings.Replace(null, "==", "!=", 1))
		}
		open("if %s { // null adds nothing", strings.Join(conditions, " && "))
	}
	for _, c := range d.Components {
		if d.Unique && c.Nullable {
			e.printf("if %s {\nreturn // null: the record is not in the index\n}", strings.Join(c.NullConditions(), " || "))
		}
	}
	for _, c := range d.Components {
		if c.Slice {
			open("for _, element := range %s {", c.Selector())
		}
	}
	e.printf("k := e.Begin()")
	declare := ":="
	for _, c := range d.Components {
		if c.Descending {
			e.printf("n %s len(k)", declare)
			declare = "="
		}
		e.writeEntryComponent(d, c)
		if c.Descending {
			e.printf("k = %s.Descend(k, n)", e.importPackage(model.PersistimplPath))
		}
	}
	e.writeEntryEnd(d)
	if len(closing) > 0 {
		e.printf("%s", strings.Join(closing, "\n"))
	}
}

// writeEntryEnd completes an entry: that of a sum with what the record adds.
func (e *emitter) writeEntryEnd(d *model.Index) {
	if d.Of == nil {
		e.printf("e.End(k)")
		return
	}
	method, basic := "EndInt", "int64"
	if d.Of.Element.Form == model.FormUint {
		method, basic = "EndUint", "uint64"
	}
	value := d.Of.Value()
	if e.typeName(d.Of.Element.GoType) != basic {
		value = fmt.Sprintf("%s(%s)", basic, value)
	}
	e.printf("e.%s(k, %s)", method, value)
}

// writeEntryComponent appends one component of a record to the key k, in ascending order.
func (e *emitter) writeEntryComponent(d *model.Index, c *model.Component) {
	value := c.Selector()
	last := c.Steps[len(c.Steps)-1].Kind.Form == model.FormPointer
	switch {
	case c.Slice:
		e.printf("k = %s", e.appendKey(c.Element, "k", "element"))
	case c.Nullable && !d.Unique && last && len(c.NullConditions()) == 1:
		e.printf("k = %s", e.ascendingKey(c, "k", value))
	default:
		value = c.Value()
		if !c.Nullable || d.Unique {
			e.printf("k = %s", e.appendKey(c.Element, "k", value))
			return
		}
		e.printf("if %s {\nk = %s.AppendNil(k)\n} else {\nk = %s\n}", strings.Join(c.NullConditions(), " || "),
			e.importPackage(model.TuplePath), e.appendKey(c.Element, "k", value))
	}
}

// coveredFields are the fields that an index copies, by their numbers.
func coveredFields(d *model.Index) []*model.Field {
	return slices.SortedFunc(slices.Values(d.CoverFields), func(a, b *model.Field) int { return cmp.Compare(a.Number, b.Number) })
}

// withoutDefault returns the field as an entry has it: what is absent there is zero.
func withoutDefault(f *model.Field) *model.Field {
	plain := *f
	plain.Default = ""
	return &plain
}

// writeCovers writes the function that encodes the fields which entries copy. The record
// was encoded before, so its strings are valid.
func (e *emitter) writeCovers(r *model.Record) {
	if !slices.ContainsFunc(r.Indexes, func(d *model.Index) bool { return len(d.CoverFields) > 0 }) {
		return
	}
	w := &encoder{emitter: e, m: r.Message, sound: true}
	w.printf("switch i {")
	for i, d := range r.Indexes {
		if len(d.CoverFields) == 0 {
			continue
		}
		w.printf("case %d:", i)
		for _, f := range coveredFields(d) {
			w.writeField(withoutDefault(f))
		}
	}
	w.printf("}")
	e.printf("Covers: func(i int, b []byte, record any) []byte {\nv := record.(*%s)", e.recordType(r))
	if w.usesAt {
		e.printf("var at int")
	}
	e.printer.printf("%s", strings.Join(w.lines, "\n"))
	e.printf("return b\n},")
}

// keyEncoder is the function value that appends a kind to a key.
func (e *emitter) keyEncoder(k *model.Kind) string {
	if k.Form == model.FormArray {
		return e.arrayKey(k)
	}
	if k.Folded {
		return fmt.Sprintf("%s.AppendFolded[%s]", e.importPackage(model.TextPath), e.typeName(k.GoType))
	}
	persistimpl := e.importPackage(model.PersistimplPath)
	if k.Form == model.FormTime {
		return persistimpl + ".AppendTime"
	}
	functions := map[model.Form]string{
		model.FormInt: "Int", model.FormID: "Int", model.FormDuration: "Int", model.FormUint: "Uint", model.FormBool: "Bool", model.FormFloat32: "Float32",
		model.FormFloat64: "Float64", model.FormString: "String", model.FormBytes: "Bytes", model.FormUUID: "UUID", model.FormULID: "UUID",
	}
	return fmt.Sprintf("%s.Append%s[%s]", persistimpl, functions[k.Form], e.typeName(k.GoType))
}

// appendKey is the call that appends a value to a key.
func (e *emitter) appendKey(k *model.Kind, buffer, value string) string {
	encoder, _, _ := strings.Cut(e.keyEncoder(k), "[") // the compiler infers the type
	return fmt.Sprintf("%s(%s, %s)", encoder, buffer, value)
}

// keyDecoder is the function value that reads a kind from a key.
func (e *emitter) keyDecoder(k *model.Kind) string {
	if k.Form == model.FormArray {
		return e.arrayReader(k)
	}
	if k.Folded {
		plain := *k
		plain.Folded = false
		k = &plain
	}
	return strings.Replace(e.keyEncoder(k), ".Append", ".Read", 1)
}

// arrayKey is the function that appends a byte array, which persistimpl cannot have
// for all lengths.
func (e *emitter) arrayKey(k *model.Kind) string {
	name := e.helperName("appendKey", k)
	e.addFunction(name, func() {
		e.printf("// %s appends a byte array to a key.", name)
		e.printf("func %s(b []byte, v %s) []byte { return %s.AppendBytes(b, v[:]) }\n", name, e.typeName(k.GoType), e.importPackage(model.PersistimplPath))
	})
	return name
}

// arrayReader is the function that reads what arrayKey's appends.
func (e *emitter) arrayReader(k *model.Kind) string {
	name := e.helperName("readKey", k)
	e.addFunction(name, func() {
		e.printf("// %s reads a byte array from a key.", name)
		e.printf("func %s(b []byte) (v %s, rest []byte, err error) {", name, e.typeName(k.GoType))
		e.printf("data, rest, err := %s.ReadBytes[[]byte](b)", e.importPackage(model.PersistimplPath))
		e.printf("if err == nil && len(data) != len(v) {")
		e.printf("err = %s.Errorf(\"%%d bytes where %%d belong\", len(data), len(v))", e.importPackage("fmt"))
		e.printf("}\ncopy(v[:], data)\nreturn v, rest, err\n}\n")
	})
	return name
}

// helperName names a function for a type: as nothing else that the package declares.
func (e *emitter) helperName(verb string, k *model.Kind) string {
	name := verb + model.Exported(model.IdentifierOf(k.GoType, e.model.Types))
	for e.declared[name] || slices.Contains(e.model.Elsewhere, name) {
		name += "2"
	}
	return name
}

// addFunction has write called at the end of the file, unless it was for that name.
func (e *emitter) addFunction(name string, write func()) {
	if e.extra == nil {
		e.extra = map[string]func(){}
	}
	e.extra[name] = write
}
