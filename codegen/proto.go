// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// protoFile is a .proto file being written.
type protoFile struct {
	pkg   *pkg
	lock  *schema.Schema
	names map[*message]string
	body  bytes.Buffer
}

// emitProto returns the records and nested messages of a package as a proto3
// file, for programs in other languages and for people.
func emitProto(p *pkg, l *schema.Schema) []byte {
	w := &protoFile{pkg: p, lock: l, names: map[*message]string{}}
	taken := map[string]bool{}
	for _, m := range p.messages {
		if namePattern.MatchString(m.name) {
			w.names[m] = freeName(m.name, taken)
		}
	}
	for _, m := range p.messages {
		if w.names[m] == "" {
			w.names[m] = freeName(m.function, taken)
		}
	}
	for _, m := range p.messages {
		w.message(m)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\nsyntax = \"proto3\";\n\npackage %s;\n", generatedHeader, protoPackage(p))
	separator := "\n"
	for _, name := range []string{"duration", "timestamp"} {
		if bytes.Contains(w.body.Bytes(), []byte("google.protobuf."+exported(name)+" ")) ||
			bytes.Contains(w.body.Bytes(), []byte("google.protobuf."+exported(name)+">")) {
			fmt.Fprintf(&out, "%simport \"google/protobuf/%s.proto\";\n", separator, name)
			separator = ""
		}
	}
	out.Write(w.body.Bytes())
	return out.Bytes()
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
func protoPackage(p *pkg) string {
	names := []string{p.name}
	if p.name == "main" {
		names = []string{path.Base(majorVersion.ReplaceAllString(p.path, "")), filepath.Base(p.dir)}
		if p.path == "command-line-arguments" {
			names = names[1:]
		}
	}
	for _, name := range append(names, p.name) {
		name = notProto.ReplaceAllString(name, "_")
		if name = strings.Trim(strings.TrimLeft(name, "0123456789_"), "_"); name != "" && name != "main" {
			return name
		}
	}
	return "records"
}

// message writes one message.
func (w *protoFile) message(m *message) {
	fmt.Fprintf(&w.body, "\n// %s is the Go type %s", w.names[m], m.goName)
	if m.record != nil {
		fmt.Fprintf(&w.body, " in the directory %s%s", m.record.directory, m.record.scatter.remark())
	}
	fmt.Fprintf(&w.body, ".\nmessage %s {\n", w.names[m])
	taken := map[string]bool{}
	for _, f := range m.byNumber() {
		fmt.Fprintf(&w.body, "  %s %s = %d;%s\n", w.typ(f.typ), freeName(snakeCase(f.name), taken), f.number, remark(f.typ))
	}
	w.reserved(m, taken)
	w.body.WriteString("}\n")
}

// reserved writes the numbers of fields that were removed.
func (w *protoFile) reserved(m *message, taken map[string]bool) {
	var numbers, names []string
	for _, f := range w.lock.Block(m.name).Fields {
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

// typ is the type of a field with its label.
func (w *protoFile) typ(k *kind) string {
	switch k.form {
	case formPointer:
		return "optional " + w.single(k.elem)
	case formSlice:
		return "repeated " + w.single(k.elem)
	case formMap:
		return fmt.Sprintf("map<%s, %s>", w.single(k.key), w.single(k.elem))
	}
	return w.single(k)
}

// single is the protobuf type of one value.
func (w *protoFile) single(k *kind) string {
	switch k.form {
	case formBool:
		return "bool"
	case formInt:
		return "sint64"
	case formUint:
		return "uint64"
	case formID:
		return "sfixed64"
	case formFloat32:
		return "float"
	case formFloat64:
		return "double"
	case formString, formText:
		return "string"
	case formTime:
		return "google.protobuf.Timestamp"
	case formDuration:
		return "google.protobuf.Duration"
	case formMessage:
		return w.names[k.message]
	default:
		return "bytes"
	}
}

// remark says what the protobuf type does not.
func remark(k *kind) string {
	for k.elem != nil {
		k = k.elem
	}
	switch k.form {
	case formInt, formUint:
		if k.width() < 64 {
			return fmt.Sprintf(" // %d bits", k.width())
		}
	case formArray:
		return fmt.Sprintf(" // %d bytes", k.length)
	case formUUID:
		return " // a UUID or other 16 bytes"
	case formULID:
		return " // a ULID, 16 bytes"
	case formBinary:
		return " // by MarshalBinary of " + k.goType.String()
	case formText:
		return " // by MarshalText of " + k.goType.String()
	}
	return ""
}

// snakeCase spells a Go name as protobuf's style has it: TenantID → tenant_id.
func snakeCase(name string) string {
	var b strings.Builder
	r := []rune(name)
	if isPluralInitialism(name) {
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
