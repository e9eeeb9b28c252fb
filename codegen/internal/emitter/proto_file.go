// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// protoFile is a .proto file being written.
type protoFile struct {
	pkg   *model.Package
	lock  *schema.Schema
	names map[*model.Message]string
	body  bytes.Buffer
}

// Proto returns the records and nested messages of a package as a proto3
// file, for programs in other languages and for people.
func Proto(p *model.Package, l *schema.Schema) []byte {
	w := &protoFile{pkg: p, lock: l, names: map[*model.Message]string{}}
	taken := map[string]bool{}
	for _, m := range p.Messages {
		if tags.NamePattern.MatchString(m.Name) {
			w.names[m] = model.FreeName(m.Name, taken)
		}
	}
	for _, m := range p.Messages {
		if w.names[m] == "" {
			w.names[m] = model.FreeName(m.Function, taken)
		}
	}
	for _, m := range p.Messages {
		w.writeMessage(m)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\nsyntax = \"proto3\";\n\npackage %s;\n", output.GeneratedHeader, protoPackage(p))
	separator := "\n"
	for _, name := range []string{"duration", "timestamp"} {
		if bytes.Contains(w.body.Bytes(), []byte("google.protobuf."+model.Exported(name)+" ")) ||
			bytes.Contains(w.body.Bytes(), []byte("google.protobuf."+model.Exported(name)+">")) {
			fmt.Fprintf(&out, "%simport \"google/protobuf/%s.proto\";\n", separator, name)
			separator = ""
		}
	}
	out.Write(w.body.Bytes())
	return out.Bytes()
}

// writeMessage writes one message.
func (w *protoFile) writeMessage(m *model.Message) {
	fmt.Fprintf(&w.body, "\n// %s is the Go type %s", w.names[m], m.GoName)
	if m.Record != nil {
		fmt.Fprintf(&w.body, " in the directory %s%s", m.Record.Directory, m.Record.Scatter.Remark())
	}
	fmt.Fprintf(&w.body, ".\nmessage %s {\n", w.names[m])
	taken := map[string]bool{}
	for _, f := range m.FieldsByNumber() {
		fmt.Fprintf(&w.body, "  %s %s = %d;%s\n", w.labelledType(f), model.FreeName(snakeCase(f.Name), taken), f.Number, fieldRemark(f))
	}
	w.writeReserved(m, taken)
	w.body.WriteString("}\n")
}

// writeReserved writes the numbers of fields that were removed.
func (w *protoFile) writeReserved(m *model.Message, taken map[string]bool) {
	var numbers, names []string
	for _, f := range w.lock.Block(m.Name).Fields {
		if !f.Reserved {
			continue
		}
		numbers = append(numbers, fmt.Sprint(f.Number))
		if name := snakeCase(f.Name); !taken[name] {
			names = append(names, fmt.Sprintf("%q", name))
			taken[name] = true
		}
	}
	if len(numbers) > 0 {
		fmt.Fprintf(&w.body, "  reserved %s;\n", strings.Join(numbers, ", "))
	}
	if len(names) > 0 {
		fmt.Fprintf(&w.body, "  reserved %s;\n", strings.Join(names, ", "))
	}
}

// labelledType is the type of a field with its label. A field with a default tells a
// zero from its absence.
func (w *protoFile) labelledType(f *model.Field) string {
	if f.Default != "" {
		return "optional " + w.fieldType(f.Kind)
	}
	return w.fieldType(f.Kind)
}

// fieldType is the type of values of a kind with its label.
func (w *protoFile) fieldType(k *model.Kind) string {
	switch k.Form {
	case model.FormPointer:
		return "optional " + w.singleType(k.Elem)
	case model.FormSlice:
		return "repeated " + w.singleType(k.Elem)
	case model.FormMap:
		return fmt.Sprintf("map<%s, %s>", w.singleType(k.Key), w.singleType(k.Elem))
	}
	return w.singleType(k)
}

// singleType is the protobuf type of one value.
func (w *protoFile) singleType(k *model.Kind) string {
	switch k.Form {
	case model.FormBool:
		return "bool"
	case model.FormInt:
		return "sint64"
	case model.FormUint:
		return "uint64"
	case model.FormID:
		return "sfixed64"
	case model.FormFloat32:
		return "float"
	case model.FormFloat64:
		return "double"
	case model.FormString, model.FormText:
		return "string"
	case model.FormTime:
		return "google.protobuf.Timestamp"
	case model.FormDuration:
		return "google.protobuf.Duration"
	case model.FormMessage:
		return w.names[k.Message]
	default:
		return "bytes"
	}
}

// notProto are the characters that a protobuf package does not have in names,
// and majorVersion is a last path element that does not name a package.
var (
	notProto     = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	majorVersion = regexp.MustCompile(`/v[0-9]+$`)
)

// protoPackage names the protobuf package: like the Go package, but a command,
// which has the name main as all others, like the last element of its path or
// like its folder.
func protoPackage(p *model.Package) string {
	names := []string{p.Name}
	if p.Name == "main" {
		names = []string{path.Base(majorVersion.ReplaceAllString(p.Path, "")), filepath.Base(p.Dir)}
		if p.Path == "command-line-arguments" {
			names = names[1:]
		}
	}
	for _, name := range append(names, p.Name) {
		name = notProto.ReplaceAllString(name, "_")
		if name = strings.Trim(strings.TrimLeft(name, "0123456789_"), "_"); name != "" && name != "main" {
			return name
		}
	}
	return "records"
}

// fieldRemark says what the protobuf type and label of a field do not.
func fieldRemark(f *model.Field) string {
	text := remark(f.Kind)
	switch {
	case f.Default == "":
		return text
	case text == "":
		return " // by default " + f.Default
	}
	return text + ", by default " + f.Default
}

// remark says what the protobuf type does not.
func remark(k *model.Kind) string {
	for k.Elem != nil {
		k = k.Elem
	}
	switch k.Form {
	case model.FormInt, model.FormUint:
		if k.Width() < 64 {
			return fmt.Sprintf(" // %d bits", k.Width())
		}
	case model.FormArray:
		return fmt.Sprintf(" // %d bytes", k.Length)
	case model.FormUUID:
		return " // a UUID or other 16 bytes"
	case model.FormULID:
		return " // a ULID, 16 bytes"
	case model.FormBinary:
		return " // by MarshalBinary of " + k.GoType.String()
	case model.FormBlob:
		return " // refers to a content"
	case model.FormText:
		return " // by MarshalText of " + k.GoType.String()
	}
	return ""
}

// snakeCase spells a Go name as protobuf's style has it: TenantID → tenant_id.
func snakeCase(name string) string {
	var b strings.Builder
	r := []rune(name)
	if model.IsPluralInitialism(name) {
		return strings.ToLower(name)
	}
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && r[i-1] != '_' &&
			(!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
