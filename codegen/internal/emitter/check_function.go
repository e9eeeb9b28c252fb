// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"go/token"
	"strconv"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// checkFunction is the function that compares the fields of a message with their bounds, being
// written.
type checkFunction struct {
	*emitter
	m *model.Message
}

func (e *checkFunction) write() {
	m, depth := e.m, ""
	if m.Recursive {
		depth = ", depth int"
	}
	e.printf("// check%s returns the first field of v with a value that breaks its bounds, and how.", m.Function)
	e.printf("func check%s(v *%s%s) (field, reason string) {", m.Function, e.typeName(m.Named), depth)
	if m.Recursive {
		e.printf("if depth == 0 {\nreturn \"\", \"\"\n}")
	}
	for _, f := range m.FieldsByNumber() {
		e.writeField(f)
	}
	e.printf("return \"\", \"\"\n}\n")
	for _, f := range m.FieldsByNumber() {
		if pattern := f.Bound("match"); pattern != "" {
			e.printf("var %s = %s.OnceValue(func() *%s.Regexp { return %s.MustCompile(%s) })\n", m.MatchVar(f),
				e.importPackage("sync"), e.importPackage("regexp"), e.importPackage("regexp"), pattern)
		}
		e.useConstants(f)
	}
}

// useConstants uses the constants that the bounds of a field name: analyzers do not read tags, and
// would report that nothing uses them.
func (e *checkFunction) useConstants(f *model.Field) {
	for _, option := range schema.BoundOptions {
		if name := f.Options.Bounds[option]; token.IsIdentifier(name) && !token.IsExported(name) {
			e.printf("const _ = %s // the tag of %s names it\n", name, f.GoName)
		}
	}
}

// writeField writes the comparisons of one field.
func (e *checkFunction) writeField(f *model.Field) {
	inner := f.Kind.InnerMessage()
	if len(f.Bounds) == 0 && (inner == nil || !inner.IsBounded()) {
		return
	}
	selector, name := f.Selector("v"), strconv.Quote(f.GoName)
	k := f.Kind
	if k.Form == model.FormPointer {
		e.printf("if %s != nil {", selector)
		e.writeValue(f, k.Elem, pointee(selector), name)
		e.printf("}")
		return
	}
	e.writeValue(f, k, variable(selector), name)
}

// writeValue writes the comparisons of a value of the field, and of its elements. name is
// the expression of its name.
func (e *checkFunction) writeValue(f *model.Field, k *model.Kind, v value, name string) {
	switch k.Form {
	case model.FormSlice, model.FormMap:
		e.writeBound(f, k, v, name, "maxlen")
		if inner := k.InnerMessage(); inner != nil && !inner.IsBounded() || inner == nil && !f.BoundsElements() {
			return
		}
		element := fmt.Sprintf("%s.Element(%s, key)", e.importPackage(model.PersistimplPath), name)
		if k.Form == model.FormSlice {
			e.printf("for key := range %s {", v.expr)
			e.writeValue(f, k.Elem, variable(v.dot+"[key]"), element)
		} else {
			e.printf("for key, element := range %s {", v.expr)
			e.writeValue(f, k.Elem, variable("element"), element)
		}
		e.printf("}")
	case model.FormMessage:
		e.printf("if field, reason := check%s(%s%s); reason != \"\" {\nreturn %s + \".\" + field, reason\n}", k.Message.Function, v.address, depthArgument(e.m, k.Message), name)
	default:
		for _, option := range schema.BoundOptions {
			if f.Kind.Bounded(option) == k {
				e.writeBound(f, k, v, name, option)
			}
		}
	}
}

// writeBound writes one comparison, if the field has the bound.
func (e *checkFunction) writeBound(f *model.Field, k *model.Kind, v value, name, option string) {
	literal := f.Bound(option)
	if literal == "" {
		return
	}
	text := strconv.Quote(schema.BoundText(k.Text(), option, literal))
	condition, shown := e.condition(f, k, v, option, literal)
	e.printf("if %s {\nreturn %s, %s.Broken(%s, %s)\n}", condition, name, e.importPackage(model.PersistimplPath), text, shown)
}

// condition is the condition under which a value breaks a bound, and the value as
// persistimpl.Broken takes it.
func (e *checkFunction) condition(f *model.Field, k *model.Kind, v value, option, literal string) (condition, shown string) {
	switch {
	case option == "match":
		return fmt.Sprintf("!%s().MatchString(%s)", e.m.MatchVar(f), e.converted("string", k, v.expr)), e.converted("string", k, v.expr)
	case option == "maxlen" && k.Form == model.FormString:
		text := e.converted("string", k, v.expr)
		return fmt.Sprintf("len(%s) > %s && %s.RuneCountInString(%s) > %s", v.expr, literal, e.importPackage("unicode/utf8"), text, literal), text
	case option == "maxlen" && k.Form == model.FormBytes:
		return fmt.Sprintf("len(%s) > %s", v.expr, literal), fmt.Sprintf("[]byte(%s)", v.expr)
	case option == "maxlen":
		return fmt.Sprintf("len(%s) > %s", v.expr, literal), fmt.Sprintf("len(%s)", v.expr)
	case k.Form == model.FormFloat32, k.Form == model.FormFloat64: // NaN is within no bounds
		return fmt.Sprintf("!(%s %s %s)", v.expr, within[option], literal), v.expr
	}
	return fmt.Sprintf("%s %s %s", v.expr, outside[option], literal), v.expr
}

// The operators that compare a value with a bound.
var (
	within  = map[string]string{"min": ">=", "max": "<="}
	outside = map[string]string{"min": "<", "max": ">"}
)
