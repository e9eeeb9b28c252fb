// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/types"
)

// form is how a Go type is stored.
type form int

// The forms. The comment is the protobuf type.
const (
	formBool     form = iota // bool
	formInt                  // sint64
	formUint                 // uint64
	formID                   // sfixed64, an idgen.ID
	formFloat32              // float
	formFloat64              // double
	formString               // string
	formBytes                // bytes
	formArray                // bytes of a fixed length
	formUUID                 // bytes, any [16]byte
	formULID                 // bytes, a ulid.ULID
	formTime                 // google.protobuf.Timestamp
	formDuration             // google.protobuf.Duration
	formBinary               // bytes by MarshalBinary
	formText                 // string by MarshalText
	formMessage              // a message of its own
	formPointer              // optional
	formSlice                // repeated
	formMap                  // map
)

// kind is a Go type with its form.
type kind struct {
	form    form
	goType  types.Type
	bits    int      // formInt and formUint: 8 to 64, or 0 for int and uint
	length  int64    // formArray
	elem    *kind    // formPointer, formSlice, formMap
	key     *kind    // formMap
	message *message // formMessage
	codec   string   // formBinary and formText: the key-stable name of the type
}

// scalar reports whether repeated fields of the kind are packed.
func (k *kind) scalar() bool { return k.form <= formFloat64 }

// text is the kind as persist.lock and error messages write it.
func (k *kind) text() string {
	switch k.form {
	case formBool:
		return "bool"
	case formInt:
		return fmt.Sprintf("int%d", k.width())
	case formUint:
		return fmt.Sprintf("uint%d", k.width())
	case formID:
		return "id"
	case formFloat32:
		return "float"
	case formFloat64:
		return "double"
	case formString:
		return "string"
	case formText:
		return "text(" + k.codec + ")"
	case formBytes:
		return "bytes"
	case formBinary:
		return "binary(" + k.codec + ")"
	case formArray:
		return fmt.Sprintf("bytes[%d]", k.length)
	case formUUID, formULID:
		return "bytes[16]"
	case formTime:
		return "time"
	case formDuration:
		return "duration"
	case formMessage:
		return "message(" + k.message.name + ")"
	case formPointer:
		return "*" + k.elem.text()
	case formSlice:
		return "[]" + k.elem.text()
	case formMap:
		return "map[" + k.key.text() + "]" + k.elem.text()
	}
	panic("codegen: unknown form")
}

// width is the number of bits that the kind may use on some platform.
func (k *kind) width() int {
	if k.bits == 0 {
		return 64
	}
	return k.bits
}

// wireType is the protobuf wire type of a single value: 0 varint, 1 eight
// bytes, 2 length-delimited, 5 four bytes.
func (k *kind) wireType() int {
	switch k.form {
	case formBool, formInt, formUint:
		return 0
	case formID, formFloat64:
		return 1
	case formFloat32:
		return 5
	default:
		return 2
	}
}

// keyText is the kind of an index component in an index signature, which
// decides the bytes of its keys.
func (k *kind) keyText() string {
	switch k.form {
	case formInt, formUint, formID:
		return "int"
	case formUUID, formULID:
		return "uuid"
	case formArray, formBytes:
		return "bytes"
	default:
		return k.text()
	}
}
