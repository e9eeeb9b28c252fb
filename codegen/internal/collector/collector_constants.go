// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// constantOf resolves what a field is compared with: a literal, or a Go constant of the
// field's type. It returns the stored value as the canonical text and Go write it.
func (c *collector) constantOf(site fieldSite, field *model.Component, t tags.Comparison) (text, reason string) {
	goType := field.Element.GoType
	if reason := whyNotCompared(field.Element); reason != "" {
		return "", fmt.Sprintf("%s is %s, of which Go has no constants; compare it with null, or compare a field of a basic type", t.Field.Text, reason)
	}
	value := types.TypeAndValue{Type: types.Typ[types.UntypedString], Value: constant.MakeString(t.Operand)}
	if !t.Quoted {
		var err error
		value, err = c.loaded.Eval(site.pos, t.Operand)
		if err != nil || value.Value == nil || value.Value.Kind() == constant.Unknown {
			return "", fmt.Sprintf("%s is neither a literal nor a Go constant that is known here%s", t.Operand, c.constantRemedy(field.Element, t.Operand))
		}
	}
	if !isAssignable(value.Type, goType) {
		return "", fmt.Sprintf("%s is of type %s, the field %s of type %s", t.Operand, c.typeText(value.Type), t.Field.Text, c.typeText(goType))
	}
	text, err := formatConstant(field.Element, value.Value)
	if err != nil {
		return "", fmt.Sprintf("%s is no value of the field %s of type %s: %v", describeOperand(t), t.Field.Text, c.typeText(goType), err)
	}
	return text, ""
}

// whyNotCompared says what a kind is that has no constants, or "".
func whyNotCompared(k *model.Kind) string {
	switch k.Form {
	case model.FormBool, model.FormInt, model.FormUint, model.FormID, model.FormFloat32, model.FormFloat64, model.FormString, model.FormDuration:
		return ""
	case model.FormTime:
		return "a time"
	case model.FormMessage:
		return "a struct"
	}
	return "of a type"
}

// constantRemedy says what may have been meant by a word that is no constant.
func (c *collector) constantRemedy(k *model.Kind, operand string) string {
	text := tags.Suggest(operand, c.constantsOf(k.GoType))
	switch {
	case operand == "nil" || operand == "NULL":
		return "; write null"
	case k.Form == model.FormString && !strings.Contains(text, "did you mean"):
		return text + "; a string stands in single quotes"
	}
	return text
}

// constantsOf lists the package's constants of a type.
func (c *collector) constantsOf(t types.Type) (names []string) {
	scope := c.pkg.Types.Scope()
	for _, name := range scope.Names() {
		if one, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(one.Type(), t) {
			names = append(names, name)
		}
	}
	return names
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

// isStandard reports whether a package is of the standard library.
func (c *collector) isStandard(p *types.Package) bool {
	first, _, _ := strings.Cut(p.Path(), "/")
	own, _, _ := strings.Cut(c.pkg.Path, "/")
	return !strings.Contains(first, ".") && first != own
}

// describeOperand writes an operand for a message.
func describeOperand(t tags.Comparison) string {
	if t.Quoted {
		return strconv.Quote(t.Operand)
	}
	return t.Operand
}
