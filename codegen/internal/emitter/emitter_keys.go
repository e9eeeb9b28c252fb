// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// keyEncoder is the function value that appends a kind to a key.
func (e *emitter) keyEncoder(k *model.Kind) string {
	if k.Form == model.FormArray {
		return e.arrayKey(k)
	}
	index := e.importPackage(model.IndexPath)
	if k.Form == model.FormTime {
		return index + ".AppendTime"
	}
	functions := map[model.Form]string{
		model.FormInt: "Int", model.FormID: "Int", model.FormDuration: "Int", model.FormUint: "Uint", model.FormBool: "Bool", model.FormFloat32: "Float32",
		model.FormFloat64: "Float64", model.FormString: "String", model.FormBytes: "Bytes", model.FormUUID: "UUID", model.FormULID: "UUID",
	}
	return fmt.Sprintf("%s.Append%s[%s]", index, functions[k.Form], e.typeName(k.GoType))
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
	return strings.Replace(e.keyEncoder(k), ".Append", ".Read", 1)
}

// arrayKey is the function that appends a byte array, which index cannot have
// for all lengths.
func (e *emitter) arrayKey(k *model.Kind) string {
	name := e.helperName("appendKey", k)
	e.addFunction(name, func() {
		e.printf("// %s appends a byte array to a key.", name)
		e.printf("func %s(b []byte, v %s) []byte { return %s.AppendBytes(b, v[:]) }\n", name, e.typeName(k.GoType), e.importPackage(model.IndexPath))
	})
	return name
}

// arrayReader is the function that reads what arrayKey's appends.
func (e *emitter) arrayReader(k *model.Kind) string {
	name := e.helperName("readKey", k)
	e.addFunction(name, func() {
		e.printf("// %s reads a byte array from a key.", name)
		e.printf("func %s(b []byte) (v %s, rest []byte, err error) {", name, e.typeName(k.GoType))
		e.printf("data, rest, err := %s.ReadBytes[[]byte](b)", e.importPackage(model.IndexPath))
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
