// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
)

// Kind is a Go type with its form.
type Kind struct {
	Form    Form
	GoType  types.Type
	Bits    int      // FormInt and FormUint: 8 to 64, or 0 for int and uint
	Length  int64    // FormArray
	Elem    *Kind    // FormPointer, FormSlice, FormMap
	Key     *Kind    // FormMap
	Message *Message // FormMessage
	Codec   string   // FormBinary and FormText: the key-stable name of the type
	Folded  bool     // FormString in a key: without regard to case
	Enum    *Enum    // FormInt, FormUint and FormString: the constants of the type, if it has some
}

// Enum is a type with constants.
type Enum struct {
	Name      string // key-stable
	Constants []EnumConstant
}

// EnumConstant is a constant of a type.
type EnumConstant struct {
	Name, Value string // the value is a Go literal without spaces
	At          token.Position
}

// Enums returns the enumerations of the kind: that of a map's keys first.
func (k *Kind) Enums() (list []*Enum) {
	for ; k != nil; k = k.Elem {
		for _, one := range []*Kind{k.Key, k} {
			if one != nil && one.Enum != nil {
				list = append(list, one.Enum)
			}
		}
	}
	return list
}

// IsScalar reports whether repeated fields of the kind are packed.
func (k *Kind) IsScalar() bool { return k.Form <= FormFloat64 }

// Bounded returns the kind of what a bound compares, below pointers and, but for maxlen, below
// slices and maps; nil if values of the kind cannot have the bound.
func (k *Kind) Bounded(option string) *Kind {
	for k.Form == FormPointer || option != "maxlen" && (k.Form == FormSlice || k.Form == FormMap) {
		k = k.Elem
	}
	possible := map[string][]Form{
		"min": {FormInt, FormUint, FormFloat32, FormFloat64, FormDuration}, "max": {FormInt, FormUint, FormFloat32, FormFloat64, FormDuration},
		"maxlen": {FormString, FormBytes, FormSlice, FormMap}, "match": {FormString},
	}
	if !slices.Contains(possible[option], k.Form) {
		return nil
	}
	return k
}

// IsPlain reports whether values of the kind are stored without a message or an encoding
// of their own, so that storing them cannot fail once the record could be stored.
func (k *Kind) IsPlain() bool {
	for ; k != nil; k = k.Elem {
		if k.Form == FormMessage || k.Form == FormBinary || k.Form == FormText || k.Form == FormBlob {
			return false
		}
	}
	return true
}

// Text is the kind as persist.lock and error messages write it.
func (k *Kind) Text() string {
	switch k.Form {
	case FormBool:
		return "bool"
	case FormInt:
		return fmt.Sprintf("int%d", k.Width())
	case FormUint:
		return fmt.Sprintf("uint%d", k.Width())
	case FormID:
		return "id"
	case FormFloat32:
		return "float"
	case FormFloat64:
		return "double"
	case FormString:
		return "string"
	case FormText:
		return "text(" + k.Codec + ")"
	case FormBytes:
		return "bytes"
	case FormBinary:
		return "binary(" + k.Codec + ")"
	case FormBlob:
		return "blob"
	case FormArray:
		return fmt.Sprintf("bytes[%d]", k.Length)
	case FormUUID, FormULID:
		return "bytes[16]"
	case FormTime:
		return "time"
	case FormDuration:
		return "duration"
	case FormMessage:
		return "message(" + k.Message.Name + ")"
	case FormPointer:
		return "*" + k.Elem.Text()
	case FormSlice:
		return "[]" + k.Elem.Text()
	case FormMap:
		return "map[" + k.Key.Text() + "]" + k.Elem.Text()
	}
	panic("codegen: unknown form")
}

// Width is the number of bits that the kind may use on some platform.
func (k *Kind) Width() int {
	if k.Bits == 0 {
		return 64
	}
	return k.Bits
}

// WireType is the protobuf wire type of a single value: 0 varint, 1 eight
// bytes, 2 length-delimited, 5 four bytes.
func (k *Kind) WireType() int {
	switch k.Form {
	case FormBool, FormInt, FormUint:
		return 0
	case FormID, FormFloat64:
		return 1
	case FormFloat32:
		return 5
	default:
		return 2
	}
}

// KeyText is the kind of an index component in an index signature, which
// decides the bytes of its keys.
func (k *Kind) KeyText() string {
	switch k.Form {
	case FormInt, FormUint, FormID:
		return "int"
	case FormUUID, FormULID:
		return "uuid"
	case FormArray, FormBytes:
		return "bytes"
	default:
		return k.Text()
	}
}

// CoverText is the kind of a covered field in an index signature, which decides the
// bytes of the entry: integers of all sizes are stored alike.
func (k *Kind) CoverText() string {
	switch k.Form {
	case FormInt:
		return "int"
	case FormUint:
		return "uint"
	case FormPointer:
		return "*" + k.Elem.CoverText()
	case FormSlice:
		return "[]" + k.Elem.CoverText()
	case FormMap:
		return "map[" + k.Key.CoverText() + "]" + k.Elem.CoverText()
	default:
		return k.Text()
	}
}

// InnerMessage is the message at the end of pointers, slices and maps.
func (k *Kind) InnerMessage() *Message {
	for k != nil {
		if k.Form == FormMessage {
			return k.Message
		}
		k = k.Elem
	}
	return nil
}

// Form is how a Go type is stored.
type Form int

// The forms. The comment is the protobuf type.
const (
	FormBool     Form = iota // bool
	FormInt                  // sint64
	FormUint                 // uint64
	FormID                   // sfixed64, an idgen.ID
	FormFloat32              // float
	FormFloat64              // double
	FormString               // string
	FormBytes                // bytes
	FormArray                // bytes of a fixed length
	FormUUID                 // bytes, any [16]byte
	FormULID                 // bytes, a ulid.ULID
	FormTime                 // google.protobuf.Timestamp
	FormDuration             // google.protobuf.Duration
	FormBinary               // bytes by MarshalBinary
	FormText                 // string by MarshalText
	FormBlob                 // bytes, a persistable.Blob
	FormMessage              // a message of its own
	FormPointer              // optional
	FormSlice                // repeated
	FormMap                  // map
)
