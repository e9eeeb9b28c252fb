// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/tuple"
)

// condition is a comparison of a field with a constant. Both are elements of keys:
// their bytes compare as the values do; but a float that is not a number compares with
// none.
type condition struct {
	component
	operator string
	constant []byte // nil for null
	float    bool
}

// holds reports whether a record fulfils the condition. null is fulfilled by null only.
func (c *condition) holds(s *state) bool {
	isNull := c.isNull(s)
	if c.constant == nil {
		return isNull == (c.operator == "=")
	}
	if isNull {
		return false
	}
	key := c.ascending(s, 0)
	if c.float && isNaN(key) {
		return c.operator == "!="
	}
	order := bytes.Compare(key, c.constant)
	switch c.operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// isNaN reports whether an element of a key is a float that is not a number.
func isNaN(key []byte) bool {
	if v, _, err := tuple.ReadFloat32(key); err == nil {
		return math.IsNaN(float64(v))
	}
	v, _, err := tuple.ReadFloat64(key)
	return err == nil && math.IsNaN(v)
}

// checkNull refuses a comparison with null that has no meaning.
func (c *condition) checkNull(m mark) error {
	if !m.null || c.operator != "=" && c.operator != "!=" {
		return fmt.Errorf("the field cannot be null, or null has no order")
	}
	return nil
}

// parseConstant returns a constant of a kind as an element of a key.
func parseConstant(k schema.Kind, text string) ([]byte, error) {
	switch k.Base {
	case "bool":
		v, err := strconv.ParseBool(text)
		if err != nil || strconv.FormatBool(v) != text {
			return nil, fmt.Errorf("%s is not a bool", text)
		}
		return tuple.AppendBool(nil, v), nil
	case "string":
		v, err := strconv.Unquote(text)
		return tuple.AppendString(nil, v), err
	case "float":
		v, err := strconv.ParseFloat(text, 32)
		return index.AppendFloat32(nil, float32(v)), err
	case "double":
		v, err := strconv.ParseFloat(text, 64)
		return index.AppendFloat64(nil, v), err
	case "time":
		if text == "zero" {
			return index.AppendTime(nil, time.Time{}), nil
		}
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return tuple.AppendInt(nil, v), checkNumeric(k)
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, err
	}
	return tuple.AppendUint(nil, v), checkNumeric(k)
}

// checkNumeric refuses a number for a kind that is none.
func checkNumeric(k schema.Kind) error {
	if v, _ := newValue(k); v.key == "int" || v.key == "duration" {
		return nil
	}
	return fmt.Errorf("a %s is not a number", k.Base)
}

// comparison is one comparison of the canonical text of a condition.
type comparison struct {
	field    string
	operator string
	constant string // a number, true, false, null, zero for the time that is not set, or a string in double quotes
}

// String is the comparison's text.
func (c comparison) String() string { return c.field + c.operator + c.constant }

// operators are those of comparisons; one that begins with another comes first.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

const operatorBytes = "=!<>"

// parseWhere reads the canonical text of a condition: comparisons, joined by " and ",
// without other spaces.
func parseWhere(text string) (list []comparison, err error) {
	for rest := text; rest != ""; {
		var c comparison
		if c, rest, err = parseComparison(rest); err != nil {
			return nil, fmt.Errorf("the condition %q: %w", text, err)
		}
		list = append(list, c)
		if rest == "" {
			break
		}
		next, found := strings.CutPrefix(rest, " and ")
		if !found || next == "" {
			return nil, fmt.Errorf("the condition %q: %q is not another comparison", text, rest)
		}
		rest = next
	}
	return list, nil
}

// parseComparison reads the comparison at the beginning of the text.
func parseComparison(text string) (c comparison, rest string, err error) {
	at := strings.IndexAny(text, operatorBytes)
	if at < 1 || strings.ContainsAny(text[:at], " \"") {
		return c, "", fmt.Errorf("%q does not begin with a field and an operator", text)
	}
	c.field, rest = text[:at], text[at:]
	i := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(rest, o) })
	if i < 0 {
		return c, "", fmt.Errorf("%q does not begin with an operator", rest)
	}
	c.operator, rest = operators[i], rest[len(operators[i]):]
	if c.constant, err = strconv.QuotedPrefix(rest); err != nil || rest[0] != '"' {
		c.constant, _, _ = strings.Cut(rest, " ")
	}
	if c.constant == "" {
		return c, "", fmt.Errorf("%s%s is compared with nothing", c.field, c.operator)
	}
	return c, rest[len(c.constant):], nil
}
