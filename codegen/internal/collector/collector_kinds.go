// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// kindOf decides how a type is stored, or gives the reason why it cannot be.
func (c *collector) kindOf(t types.Type, text bool) (*model.Kind, string) {
	k := &model.Kind{GoType: t}
	actual := types.Unalias(t)
	named, isNamed := actual.(*types.Named)
	if isNamed {
		if form := knownForm(named); form == model.FormBlob || form != noForm && !text {
			k.Form = form
			return k, ""
		}
	}
	if p, ok := actual.(*types.Pointer); ok {
		return c.pointerKind(k, p, text)
	}
	if text {
		if !isNamed || !marshals(named, "Text") {
			return nil, fmt.Sprintf("option text: %s has no MarshalText and UnmarshalText", c.typeText(t))
		}
		k.Form, k.Codec = model.FormText, c.stableName(named)
		return k, ""
	}
	if setPlain(k, actual) {
		k.Enum = c.enumOf(named, k)
		return k, ""
	}
	if isNamed {
		switch {
		case marshals(named, "Binary"):
			k.Form, k.Codec = model.FormBinary, c.stableName(named)
			return k, ""
		case marshals(named, "Text"):
			k.Form, k.Codec = model.FormText, c.stableName(named)
			return k, ""
		}
	}
	return c.compositeKind(k, actual)
}

// compositeKind decides on slices, maps and structs, and refuses the rest.
func (c *collector) compositeKind(k *model.Kind, t types.Type) (*model.Kind, string) {
	if isEndless(t) {
		return nil, fmt.Sprintf("%s consists of itself and cannot be stored; put it into a struct", c.typeText(k.GoType))
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return c.sliceKind(k, u)
	case *types.Map:
		return c.mapKind(k, u)
	case *types.Struct:
		return c.structKind(k, t)
	case *types.Array:
		return nil, fmt.Sprintf("an array such as %s cannot be stored, unless it is of bytes; use a slice", c.typeText(k.GoType))
	case *types.Basic:
		if u.Kind() == types.Invalid {
			return nil, Unresolved
		}
	case *types.Interface:
		return nil, fmt.Sprintf("an interface such as %s cannot be stored; use a concrete type", c.typeText(k.GoType))
	}
	return nil, fmt.Sprintf("%s cannot be stored; leave the field out with persist:\"-\"", c.typeText(k.GoType))
}

// isEndless reports whether a type consists of itself without a struct in between, as
// type T []T does.
func isEndless(t types.Type) bool {
	seen := map[types.Type]bool{}
	for !seen[t] {
		seen[t] = true
		u, ok := t.Underlying().(interface{ Elem() types.Type })
		if !ok {
			return false
		}
		t = types.Unalias(u.Elem())
	}
	return true
}

func (c *collector) pointerKind(k *model.Kind, p *types.Pointer, text bool) (*model.Kind, string) {
	elem, reason := c.kindOf(p.Elem(), text)
	if reason != "" {
		return nil, reason
	}
	switch elem.Form {
	case model.FormPointer, model.FormSlice, model.FormMap:
		return nil, fmt.Sprintf("a pointer to %s cannot be stored; use %s", c.typeText(elem.GoType), c.typeText(elem.GoType))
	}
	k.Form, k.Elem = model.FormPointer, elem
	return k, ""
}

func (c *collector) sliceKind(k *model.Kind, s *types.Slice) (*model.Kind, string) {
	elem, reason := c.kindOf(s.Elem(), false)
	if reason != "" {
		return nil, reason
	}
	switch elem.Form {
	case model.FormPointer:
		return nil, fmt.Sprintf("a slice of pointers cannot be stored; use []%s", c.typeText(elem.Elem.GoType))
	case model.FormSlice, model.FormMap:
		return nil, fmt.Sprintf("a slice of %s cannot be stored; put it into a struct", c.typeText(elem.GoType))
	}
	k.Form, k.Elem = model.FormSlice, elem
	return k, ""
}

func (c *collector) mapKind(k *model.Kind, m *types.Map) (*model.Kind, string) {
	key, reason := c.kindOf(m.Key(), false)
	if reason != "" {
		return nil, reason
	}
	switch key.Form {
	case model.FormBool, model.FormInt, model.FormUint, model.FormID, model.FormString:
	default:
		return nil, fmt.Sprintf("the key type %s cannot be stored; map keys are strings, integers or bools", c.typeText(key.GoType))
	}
	elem, reason := c.kindOf(m.Elem(), false)
	if reason != "" {
		return nil, reason
	}
	switch elem.Form {
	case model.FormPointer:
		return nil, fmt.Sprintf("a map of pointers cannot be stored; use %s as the value type", c.typeText(elem.Elem.GoType))
	case model.FormSlice, model.FormMap:
		return nil, fmt.Sprintf("a map of %s cannot be stored; put it into a struct", c.typeText(elem.GoType))
	}
	if model.HoldsLock(elem.GoType) {
		return nil, fmt.Sprintf("a map of %s cannot be stored, because that holds a lock, and the values of a map are copied; leave the lock out, or use a slice", c.typeText(elem.GoType))
	}
	k.Form, k.Key, k.Elem = model.FormMap, key, elem
	return k, ""
}

// whyNotNamed returns why generated code cannot name a type that it must, or "". It need
// not name the type of bytes, and of what marshals itself, where a field is of that type.
func (c *collector) whyNotNamed(k *model.Kind) string {
	switch k.Form {
	case model.FormBytes, model.FormBinary, model.FormText:
		return ""
	}
	if found := c.findUnexported(k.GoType); found != nil {
		return fmt.Sprintf("the unexported type %s of another package cannot be stored; export it, or use another type", c.typeText(found))
	}
	return ""
}

// findUnexported returns a type within another that only its own package can name, or nil.
func (c *collector) findUnexported(t types.Type) types.Type {
	switch t := t.(type) {
	case interface {
		Obj() *types.TypeName
		TypeArgs() *types.TypeList
	}: // named, or an alias
		if c.isOutside(t.Obj().Pkg()) && !t.Obj().Exported() {
			return t.Obj().Type()
		}
		for argument := range t.TypeArgs().Types() {
			if found := c.findUnexported(argument); found != nil {
				return found
			}
		}
	case *types.Map:
		return cmp.Or(c.findUnexported(t.Key()), c.findUnexported(t.Elem()))
	case interface{ Elem() types.Type }:
		return c.findUnexported(t.Elem())
	}
	return nil
}

// structKind makes a named struct a message.
func (c *collector) structKind(k *model.Kind, t types.Type) (*model.Kind, string) {
	named, ok := t.(*types.Named)
	if !ok {
		return nil, "an unnamed struct cannot be stored; declare a type for it"
	}
	outside := c.isOutside(named.Obj().Pkg())
	if outside && !named.Obj().Exported() {
		return nil, fmt.Sprintf("the unexported type %s of another package cannot be stored; export it, or use another type", c.typeText(t))
	}
	if named.Obj().Parent() != named.Obj().Pkg().Scope() {
		return nil, fmt.Sprintf("%s is declared in a function; declare it at package level", c.typeText(t))
	}
	if isBlobOfOwnName(named) {
		return nil, fmt.Sprintf("%s is a type of its own, so its contents would be lost; write persistable.Blob", c.typeText(t))
	}
	k.Form, k.Message = model.FormMessage, c.messageOf(named)
	if outside && c.foreign == 0 && c.reason != "" {
		return nil, fmt.Sprintf("%s cannot be stored: %s", c.typeText(t), c.takeReason())
	}
	return k, ""
}

// enumOf returns the constants of a field's type, which stored values mean; nil unless
// there are at least two. Those of the standard library do not change, or differ between
// systems.
func (c *collector) enumOf(named *types.Named, k *model.Kind) *model.Enum {
	if named == nil || named.Obj().Pkg() == nil || named.TypeArgs().Len() > 0 || c.isStandard(named.Obj().Pkg()) {
		return nil
	}
	switch k.Form {
	case model.FormInt, model.FormUint, model.FormString:
	default:
		return nil
	}
	e, found := c.enums[named.Obj()]
	if !found {
		e = &model.Enum{Name: c.stableName(named)}
		c.addConstants(e, named, k, named.Obj().Pkg())
		if c.isOutside(named.Obj().Pkg()) {
			c.addConstants(e, named, k, c.pkg.Types)
		}
		c.enums[named.Obj()] = e
	}
	if len(e.Constants) < 2 {
		return nil
	}
	return e
}

// addConstants adds the constants of a type that a package declares, in its order.
func (c *collector) addConstants(e *model.Enum, named *types.Named, k *model.Kind, in *types.Package) {
	var list []*types.Const
	for _, name := range in.Scope().Names() {
		if one, ok := in.Scope().Lookup(name).(*types.Const); ok && types.Identical(one.Type(), named) {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *types.Const) int { return cmp.Compare(a.Pos(), b.Pos()) })
	for _, one := range list {
		if text, err := formatConstant(k, one.Val()); err == nil {
			e.Constants = append(e.Constants, model.EnumConstant{Name: one.Name(), Value: text, At: c.loaded.Position(one.Pos())})
		}
	}
}

// Unresolved is the fault of a field with an unknown type. Where the compiler has a
// message of its own, that message replaces it.
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
	case model.PersistablePath + ".Blob":
		return model.FormBlob
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

// marshals reports whether a type, or a pointer to it, has MarshalX() ([]byte,
// error) and UnmarshalX([]byte) error.
func marshals(named *types.Named, x string) bool {
	set := types.NewMethodSet(types.NewPointer(named))
	return hasMethod(set, "Marshal"+x, "func() ([]byte, error)") &&
		hasMethod(set, "Unmarshal"+x, "func([]byte) error")
}

func hasMethod(set *types.MethodSet, name, signature string) bool {
	selection := set.Lookup(nil, name)
	if selection == nil {
		return false
	}
	s, ok := selection.Type().(*types.Signature)
	if !ok {
		return false
	}
	var params, results []string
	for v := range s.Params().Variables() {
		params = append(params, types.TypeString(v.Type(), nil))
	}
	for v := range s.Results().Variables() {
		results = append(results, types.TypeString(v.Type(), nil))
	}
	return signature == signatureText(params, results)
}

func signatureText(params, results []string) string {
	text := "func(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}
