// SPDX-License-Identifier: Apache-2.0

package api

import (
	"go/types"
	"slices"
)

// Name names a type ("Tx"), a function ("Retry") or a method ("Future.Get") of a
// package.
type Name struct{ Package, Object string }

// Set is a set of types or functions.
type Set []Name

// Has reports whether the set has a function. A method has the name of its
// receiver's type before its own.
func (s Set) Has(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && slices.Contains(s, Name{fn.Pkg().Path(), FullName(fn)})
}

// HasType reports whether the set has a type, or the type to which it points. Of a
// generic type it has all instances.
func (s Set) HasType(t types.Type) bool {
	name := typeName(t)
	return name != nil && name.Pkg() != nil && slices.Contains(s, Name{name.Pkg().Path(), name.Name()})
}

// FullName returns the name of a function, behind that of its receiver's type if it is a
// method.
func FullName(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	if name := typeName(recv.Type()); name != nil {
		return name.Name() + "." + fn.Name()
	}
	return fn.Name()
}

// typeName returns the name of a type or of the type to which it points, nil if it has none.
func typeName(t types.Type) *types.TypeName {
	if t == nil {
		return nil
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Origin().Obj()
	}
	return nil
}
