// SPDX-License-Identifier: Apache-2.0

package api

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// Callee returns the function that a call names: nil for a call of a function value,
// a conversion or a built-in function. A method of a generic type is that of its
// declaration.
func Callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(info, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// IsTransaction reports whether a type is that of a transaction.
func IsTransaction(t types.Type) bool { return Transactions.HasType(t) }

// TakesTransaction reports whether a function takes a transaction.
func TakesTransaction(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if IsTransaction(v.Type()) {
			return true
		}
	}
	return false
}

// TakesWriting reports whether a function takes a transaction that writes: its effects, and
// what it takes that differs each time, are reported in it.
func TakesWriting(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if IsTransaction(v.Type()) && !ReadTransactions.HasType(v.Type()) {
			return true
		}
	}
	return false
}

// IsDatabase reports whether a type is that of a database: one of Databases, or an
// engine, which begins transactions and runs functions in them.
func IsDatabase(t types.Type) bool {
	if Databases.HasType(t) {
		return true
	}
	return takes(t, "Transact", IsTransaction) && HasMethod(t, "Begin")
}

// takes reports whether a type has a method that takes a function, and the first
// parameter of that function fulfils a predicate.
func takes(t types.Type, method string, is func(types.Type) bool) bool {
	fn := methodOf(t, method)
	if fn == nil {
		return false
	}
	for v := range fn.Signature().Params().Variables() {
		if s, ok := v.Type().Underlying().(*types.Signature); ok && s.Params().Len() > 0 && is(s.Params().At(0).Type()) {
			return true
		}
	}
	return false
}

// HasMethod reports whether a type has a method with that name.
func HasMethod(t types.Type, name string) bool { return methodOf(t, name) != nil }

func methodOf(t types.Type, name string) *types.Func {
	if t == nil {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	fn, _ := obj.(*types.Func)
	return fn
}

// IsStore reports whether a type is a store, or a generated one, which embeds it.
func IsStore(t types.Type) bool { return Stores.HasType(t) || GeneratedStore(t) != nil }

// GeneratedStore returns the name of a type that embeds a store, nil for others.
func GeneratedStore(t types.Type) *types.TypeName {
	name := typeName(t)
	if name == nil {
		return nil
	}
	fields, ok := name.Type().Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for f := range fields.Fields() {
		if f.Embedded() && Stores.HasType(f.Type()) {
			return name
		}
	}
	return nil
}

// IsError reports whether a type is error.
func IsError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// LastError reports whether the last result of a signature is an error.
func LastError(s *types.Signature) bool {
	n := s.Results().Len()
	return n > 0 && IsError(s.Results().At(n-1).Type())
}

// IsStandard reports whether a package is of Go's own library. The paths of other
// modules may lack a dot, too, so it goes by the library's top folders.
func IsStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return standard[first]
}

var standard = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`archive bufio builtin bytes cmp compress container context crypto database debug
		embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path
		plugin reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique
		unsafe vendor weak`) {
		names[name] = true
	}
	return names
}()

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

// FullName returns the name of a function, and for a method the name of its receiver's
// type, a dot and its own name.
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
