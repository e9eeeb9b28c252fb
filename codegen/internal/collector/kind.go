// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// Unresolved is the fault of a field whose type is not known. The compiler's own
// message takes its place where there is one.
const Unresolved = "the field's type is not known; mend the source, or import its package"

// noForm is the form of a type that is not one of the known named types.
const noForm model.Form = -1

// knownForm returns the form of the named types that have one of their own.
func knownForm(named *types.Named) model.Form {
	object := named.Obj()
	if object.Pkg() == nil {
		return noForm
	}
	switch object.Pkg().Path() + "." + object.Name() {
	case model.IDGenPath + ".ID":
		return model.FormID
	case model.ULIDPath + ".ULID":
		return model.FormULID
	case "time.Time":
		return model.FormTime
	case "time.Duration":
		return model.FormDuration
	}
	return noForm
}

// setPlain recognizes basic kinds, bytes and byte arrays, named or not.
func setPlain(k *model.Kind, t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return setBasic(k, u)
	case *types.Slice:
		if isByte(u.Elem()) {
			k.Form = model.FormBytes
			return true
		}
	case *types.Array:
		if !isByte(u.Elem()) || u.Len() == 0 {
			return false
		}
		k.Form, k.Length = model.FormArray, u.Len()
		if u.Len() == 16 {
			k.Form = model.FormUUID
		}
		return true
	}
	return false
}

// setBasic recognizes the basic kinds that can be stored.
func setBasic(k *model.Kind, u *types.Basic) bool {
	bits := map[types.BasicKind]int{
		types.Int8: 8, types.Int16: 16, types.Int32: 32, types.Int64: 64,
		types.Uint8: 8, types.Uint16: 16, types.Uint32: 32, types.Uint64: 64,
	}
	k.Bits = bits[u.Kind()]
	switch info := u.Info(); {
	case u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer || u.Kind() == types.Invalid:
		return false
	case info&types.IsBoolean != 0:
		k.Form = model.FormBool
	case info&types.IsUnsigned != 0:
		k.Form = model.FormUint
	case info&types.IsInteger != 0:
		k.Form = model.FormInt
	case u.Kind() == types.Float32:
		k.Form = model.FormFloat32
	case u.Kind() == types.Float64:
		k.Form = model.FormFloat64
	case info&types.IsString != 0:
		k.Form = model.FormString
	default:
		return false
	}
	return true
}

// isByte reports whether t is byte itself: []byte converts, a slice of a named
// byte type does not.
func isByte(t types.Type) bool { return types.Identical(t, types.Typ[types.Byte]) }
