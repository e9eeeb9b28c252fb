// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"go/constant"
	"go/types"
	"math"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// constantOf resolves what a field is compared with: a literal, or a Go constant of the
// field's type. It returns the stored value as the canonical text and Go write it.
func (s *subject) constantOf(site fieldSite, field *model.Component, t tags.Comparison) (text, reason string) {
	goType := field.Element.GoType
	if reason := whyNotCompared(field.Element); reason != "" {
		return "", fmt.Sprintf("%s is %s, of which Go has no constants; compare it with null, or compare a field of a basic type", t.Field.Text, reason)
	}
	value := types.TypeAndValue{Type: types.Typ[types.UntypedString], Value: constant.MakeString(t.Operand)}
	if !t.Quoted {
		var err error
		value, err = s.loaded.Eval(site.pos, t.Operand)
		if err != nil || value.Value == nil || value.Value.Kind() == constant.Unknown {
			return "", fmt.Sprintf("%s is neither a literal nor a Go constant that is known here%s", t.Operand, s.constantRemedy(field.Element, t.Operand))
		}
	}
	if !isAssignable(value.Type, goType) {
		return "", fmt.Sprintf("%s is of type %s, the field %s of type %s", t.Operand, s.typeText(value.Type), t.Field.Text, s.typeText(goType))
	}
	text, err := formatConstant(field.Element, value.Value)
	if err != nil {
		return "", fmt.Sprintf("%s is not a value of the field %s of type %s: %v", describeOperand(t), t.Field.Text, s.typeText(goType), err)
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

// constantRemedy suggests a constant for a word that is not one.
func (s *subject) constantRemedy(k *model.Kind, operand string) string {
	text := tags.Suggest(operand, s.constantsOf(k.GoType))
	switch {
	case operand == "nil" || operand == "NULL":
		return "; write null"
	case k.Form == model.FormString && !strings.Contains(text, "did you mean"):
		return text + "; a string stands in single quotes"
	}
	return text
}

// constantsOf lists the package's constants of a type.
func (s *subject) constantsOf(t types.Type) (names []string) {
	scope := s.pkg.Types.Scope()
	for _, name := range scope.Names() {
		if one, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(one.Type(), t) {
			names = append(names, name)
		}
	}
	return names
}

// isStandard reports whether a package is of the standard library.
func (s *subject) isStandard(p *types.Package) bool {
	first, _, _ := strings.Cut(p.Path(), "/")
	own, _, _ := strings.Cut(s.pkg.Path, "/")
	return !strings.Contains(first, ".") && first != own
}

// describeOperand writes an operand for a message.
func describeOperand(t tags.Comparison) string {
	if t.Quoted {
		return strconv.Quote(t.Operand)
	}
	return t.Operand
}

// goLiteral returns the Go expression of an option's value. A tag may write a string
// between apostrophes, which need no escape there.
func goLiteral(text string) string {
	if len(text) > 1 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return strconv.Quote(text[1 : len(text)-1])
	}
	return text
}

// isAssignable reports whether a constant may be given to a field, as far as types say.
func isAssignable(constant, field types.Type) bool {
	basic, ok := constant.(*types.Basic)
	return types.Identical(constant, field) || ok && basic.Info()&types.IsUntyped != 0
}

// formatConstant returns the text of a constant in persist.lock, of a default or a
// condition: a Go literal without spaces. The error says why a field of that kind
// cannot have it.
func formatConstant(k *model.Kind, value constant.Value) (string, error) {
	number, text := constant.ToInt(value), value.ExactString()
	switch {
	case value.Kind() == constant.String:
		text = schema.Literal(constant.StringVal(value))
	case k.Form == model.FormFloat32:
		text = formatFloat(value, 32)
	case k.Form == model.FormFloat64:
		text = formatFloat(value, 64)
	case number.Kind() == constant.Int:
		text = number.ExactString()
	}
	_, err := schema.ParseDefault(k.Text(), text)
	return text, err
}

// formatFloat returns the text of a float with that many bits, and other text for a constant
// that is none, or too large.
func formatFloat(value constant.Value, bits int) string {
	number := constant.ToFloat(value)
	if number.Kind() != constant.Float {
		return value.ExactString()
	}
	f, _ := constant.Float64Val(number)
	if bits == 32 {
		single, _ := constant.Float32Val(number)
		f = float64(single)
	}
	if math.IsInf(f, 0) {
		return value.String()
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}
