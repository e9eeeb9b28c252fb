// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

const module = "github.com/kazahana-db/kazahana"

// list returns a line for each thing that a package exports. A line that goes away or changes can break
// a program that uses the package; a line that comes breaks none.
func list(pkg *types.Package) []string {
	c := &catalog{pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			c.addObject(object)
		}
	}
	slices.Sort(c.lines)
	return slices.Compact(c.lines)
}

// catalog collects the lines of a package.
type catalog struct {
	pkg   *types.Package
	lines []string
}

func (c *catalog) add(format string, args ...any) {
	c.lines = append(c.lines, "pkg "+relative(c.pkg)+", "+fmt.Sprintf(format, args...))
}

// relative names a package of this module by its folder, and others by their path.
func relative(pkg *types.Package) string { return strings.TrimPrefix(pkg.Path(), module+"/") }

// text writes a type without the names of parameters, which may change.
func text(t types.Type) string { return types.TypeString(unnamed(t), relative) }

func (c *catalog) addObject(object types.Object) {
	switch o := object.(type) {
	case *types.Const:
		c.add("const %s %s = %s", o.Name(), text(o.Type()), o.Val().ExactString())
	case *types.Var:
		c.add("var %s %s", o.Name(), text(o.Type()))
	case *types.Func:
		c.add("func %s%s", o.Name(), strings.TrimPrefix(text(o.Type()), "func"))
	case *types.TypeName:
		c.addType(o)
	}
}

func (c *catalog) addType(name *types.TypeName) {
	if name.IsAlias() {
		c.add("type %s = %s", name.Name(), text(types.Unalias(name.Type())))
		return
	}
	named := name.Type().(*types.Named)
	head := "type " + name.Name() + parameters(named.TypeParams())
	switch under := named.Underlying().(type) {
	case *types.Interface:
		c.addInterface(head, under)
		return // its methods are listed
	case *types.Struct:
		c.add("%s struct", head)
		if types.Comparable(named) {
			c.add("%s struct, comparable", head)
		}
		c.addFields(head, under)
	default:
		c.add("%s %s", head, text(under))
	}
	c.addMethods(named)
}

// addFields lists the exported fields of a struct, with those that it has by structs that are embedded but not exported.
func (c *catalog) addFields(head string, s *types.Struct) {
	for f := range s.Fields() {
		switch embedded, isStruct := f.Type().Underlying().(*types.Struct); {
		case f.Embedded() && f.Exported():
			c.add("%s struct, embedded %s", head, text(f.Type()))
		case f.Exported():
			c.add("%s struct, %s %s", head, f.Name(), text(f.Type()))
		case f.Embedded() && isStruct:
			c.addFields(head, embedded)
		}
	}
}

// addInterface lists an interface. Others may implement it unless a method is not exported: then its first
// line has all methods, because a method more breaks them.
func (c *catalog) addInterface(head string, i *types.Interface) {
	if !i.IsMethodSet() {
		c.add("%s %s", head, text(i))
		return
	}
	var names []string
	open := true
	for m := range i.Methods() {
		open = open && m.Exported()
		if m.Exported() {
			names = append(names, m.Name())
			c.add("%s interface, %s%s", head, m.Name(), strings.TrimPrefix(text(m.Type()), "func"))
		}
	}
	if open {
		c.add("%s interface { %s }", head, strings.Join(names, ", "))
	} else {
		c.add("%s interface, with methods that are not exported", head)
	}
}

// addMethods lists the exported methods of a type, also those of what it embeds.
func (c *catalog) addMethods(named *types.Named) {
	values := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		m := selection.Obj()
		if !m.Exported() {
			continue
		}
		receiver := "*" + named.Obj().Name()
		if values.Lookup(m.Pkg(), m.Name()) != nil {
			receiver = named.Obj().Name()
		}
		c.add("method (%s) %s%s", receiver, m.Name(), strings.TrimPrefix(text(selection.Type()), "func"))
	}
}

func parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+text(p.Constraint()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// unnamed returns a type in which no parameter or result of a function has a name.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		parameters := slices.Collect(t.TypeParams().TypeParams())
		if parameters != nil { // they belong to their signature, and are written with it
			return t
		}
		return types.NewSignatureType(nil, nil, nil, unnamedTuple(t.Params()), unnamedTuple(t.Results()), t.Variadic())
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Array:
		return types.NewArray(unnamed(t.Elem()), t.Len())
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), unnamed(t.Elem()))
	}
	return t
}

func unnamedTuple(tuple *types.Tuple) *types.Tuple {
	var all []*types.Var
	for v := range tuple.Variables() {
		all = append(all, types.NewParam(v.Pos(), v.Pkg(), "", unnamed(v.Type())))
	}
	return types.NewTuple(all...)
}
