// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/types"
	"strings"
)

// unresolved is the fault of a field whose type is not known. The compiler's own
// message takes its place where there is one.
const unresolved = "the field's type is not known; mend the source, or import its package"

// noForm is the form of a type that is not one of the known named types.
const noForm form = -1

// knownForm returns the form of the named types that have one of their own.
func knownForm(named *types.Named) form {
	object := named.Obj()
	if object.Pkg() == nil {
		return noForm
	}
	switch object.Pkg().Path() + "." + object.Name() {
	case idgenPath + ".ID":
		return formID
	case ulidPath + ".ULID":
		return formULID
	case "time.Time":
		return formTime
	case "time.Duration":
		return formDuration
	}
	return noForm
}

// kindOf decides how a type is stored, or gives the reason why it cannot be.
func (c *collector) kindOf(t types.Type, text bool) (*kind, string) {
	k := &kind{goType: t}
	actual := types.Unalias(t)
	named, isNamed := actual.(*types.Named)
	if isNamed && knownForm(named) != noForm && !text {
		k.form = knownForm(named)
		return k, ""
	}
	if p, ok := actual.(*types.Pointer); ok {
		return c.pointerKind(k, p, text)
	}
	if text {
		if !isNamed || !marshals(named, "Text") {
			return nil, fmt.Sprintf("option text: %s has no MarshalText and UnmarshalText", c.typeText(t))
		}
		k.form, k.codec = formText, c.stableName(named)
		return k, ""
	}
	if setPlain(k, actual) {
		return k, ""
	}
	if isNamed {
		switch {
		case marshals(named, "Binary"):
			k.form, k.codec = formBinary, c.stableName(named)
			return k, ""
		case marshals(named, "Text"):
			k.form, k.codec = formText, c.stableName(named)
			return k, ""
		}
	}
	return c.compositeKind(k, actual)
}

// setPlain recognizes basic kinds, bytes and byte arrays, named or not.
func setPlain(k *kind, t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return setBasic(k, u)
	case *types.Slice:
		if isByte(u.Elem()) {
			k.form = formBytes
			return true
		}
	case *types.Array:
		if !isByte(u.Elem()) || u.Len() == 0 {
			return false
		}
		k.form, k.length = formArray, u.Len()
		if u.Len() == 16 {
			k.form = formUUID
		}
		return true
	}
	return false
}

// setBasic recognizes the basic kinds that can be stored.
func setBasic(k *kind, u *types.Basic) bool {
	bits := map[types.BasicKind]int{
		types.Int8: 8, types.Int16: 16, types.Int32: 32, types.Int64: 64,
		types.Uint8: 8, types.Uint16: 16, types.Uint32: 32, types.Uint64: 64,
	}
	k.bits = bits[u.Kind()]
	switch info := u.Info(); {
	case u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer || u.Kind() == types.Invalid:
		return false
	case info&types.IsBoolean != 0:
		k.form = formBool
	case info&types.IsUnsigned != 0:
		k.form = formUint
	case info&types.IsInteger != 0:
		k.form = formInt
	case u.Kind() == types.Float32:
		k.form = formFloat32
	case u.Kind() == types.Float64:
		k.form = formFloat64
	case info&types.IsString != 0:
		k.form = formString
	default:
		return false
	}
	return true
}

// isByte reports whether t is byte itself: []byte converts, a slice of a named
// byte type does not.
func isByte(t types.Type) bool { return types.Identical(t, types.Typ[types.Byte]) }

// compositeKind decides on slices, maps and structs, and refuses the rest.
func (c *collector) compositeKind(k *kind, t types.Type) (*kind, string) {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return c.sliceKind(k, u)
	case *types.Map:
		return c.mapKind(k, u)
	case *types.Struct:
		return c.structKind(k, t)
	case *types.Array:
		return nil, fmt.Sprintf("an array such as %s cannot be stored, unless it is of bytes; use a slice", c.typeText(k.goType))
	case *types.Basic:
		if u.Kind() == types.Invalid {
			return nil, unresolved
		}
	case *types.Interface:
		return nil, fmt.Sprintf("an interface such as %s cannot be stored; use a concrete type", c.typeText(k.goType))
	}
	return nil, fmt.Sprintf("%s cannot be stored; leave the field out with persist:\"-\"", c.typeText(k.goType))
}

func (c *collector) pointerKind(k *kind, p *types.Pointer, text bool) (*kind, string) {
	elem, reason := c.kindOf(p.Elem(), text)
	if reason != "" {
		return nil, reason
	}
	switch elem.form {
	case formPointer, formSlice, formMap:
		return nil, fmt.Sprintf("a pointer to %s cannot be stored; use %s", c.typeText(elem.goType), c.typeText(elem.goType))
	}
	k.form, k.elem = formPointer, elem
	return k, ""
}

func (c *collector) sliceKind(k *kind, s *types.Slice) (*kind, string) {
	elem, reason := c.kindOf(s.Elem(), false)
	if reason != "" {
		return nil, reason
	}
	switch elem.form {
	case formPointer:
		return nil, fmt.Sprintf("a slice of pointers cannot be stored; use []%s", c.typeText(elem.elem.goType))
	case formSlice, formMap:
		return nil, fmt.Sprintf("a slice of %s cannot be stored; put it into a struct", c.typeText(elem.goType))
	}
	k.form, k.elem = formSlice, elem
	return k, ""
}

func (c *collector) mapKind(k *kind, m *types.Map) (*kind, string) {
	key, reason := c.kindOf(m.Key(), false)
	if reason != "" {
		return nil, reason
	}
	switch key.form {
	case formBool, formInt, formUint, formID, formString:
	default:
		return nil, fmt.Sprintf("the key type %s cannot be stored; map keys are strings, integers or bools", c.typeText(key.goType))
	}
	elem, reason := c.kindOf(m.Elem(), false)
	if reason != "" {
		return nil, reason
	}
	switch elem.form {
	case formPointer:
		return nil, fmt.Sprintf("a map of pointers cannot be stored; use %s as the value type", c.typeText(elem.elem.goType))
	case formSlice, formMap:
		return nil, fmt.Sprintf("a map of %s cannot be stored; put it into a struct", c.typeText(elem.goType))
	}
	k.form, k.key, k.elem = formMap, key, elem
	return k, ""
}

// structKind makes a named struct a message.
func (c *collector) structKind(k *kind, t types.Type) (*kind, string) {
	named, ok := t.(*types.Named)
	if !ok {
		return nil, "an unnamed struct cannot be stored; declare a type for it"
	}
	outside := c.outside(named.Obj().Pkg())
	if outside && !named.Obj().Exported() {
		return nil, fmt.Sprintf("%s of another package cannot be stored", c.typeText(t))
	}
	if named.Obj().Parent() != named.Obj().Pkg().Scope() {
		return nil, fmt.Sprintf("%s is declared in a function; declare it at package level", c.typeText(t))
	}
	k.form, k.message = formMessage, c.message(named)
	if outside && c.foreign == 0 && c.reason != "" {
		return nil, fmt.Sprintf("%s cannot be stored: %s", c.typeText(t), c.takeReason())
	}
	return k, ""
}

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
