// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// setDefault sets the default that the option default= gives a field: a constant, as
// Go's compiler evaluates it where the field stands.
func (c *collector) setDefault(f *model.Field, v *types.Var) {
	text := f.Options.Default
	if text == "" || f.Kind == nil {
		return
	}
	report := func(format string, args ...any) {
		c.report(f.OptionAt("default"), f.Subject, "default="+text+": "+fmt.Sprintf(format, args...))
	}
	if c.foreign > 0 {
		report("a field of a struct of another package has no default")
		return
	}
	value, err := c.loaded.Eval(v.Pos(), goLiteral(text))
	switch {
	case err != nil:
		remedy := tags.Suggest(text, c.constantsOf(v.Type()))
		if f.Kind.Form == model.FormString && token.IsIdentifier(text) && !strings.Contains(remedy, "did you mean") {
			remedy += fmt.Sprintf("; a string stands in single quotes: default='%s'", text)
		}
		report("it is not a constant of this package%s", remedy)
		return
	case value.Value == nil || value.Value.Kind() == constant.Unknown:
		report("it is not a constant")
		return
	case !isAssignable(value.Type, v.Type()):
		report("it is of type %s, the field of type %s", c.typeText(value.Type), c.typeText(v.Type()))
		return
	}
	if f.Default, err = formatConstant(f.Kind, value.Value); err != nil {
		report("%v", err)
	}
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
		text = strings.ReplaceAll(strconv.QuoteToASCII(constant.StringVal(value)), " ", `\x20`)
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
