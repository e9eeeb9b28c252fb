// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"go/constant"
	"go/types"
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

// describeOperand writes an operand for a message.
func describeOperand(t tags.Comparison) string {
	if t.Quoted {
		return strconv.Quote(t.Operand)
	}
	return t.Operand
}
