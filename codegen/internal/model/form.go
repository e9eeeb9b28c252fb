// SPDX-License-Identifier: Apache-2.0

package model

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
	FormMessage              // a message of its own
	FormPointer              // optional
	FormSlice                // repeated
	FormMap                  // map
)
