// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// comparison is one comparison of the canonical text of a condition.
type comparison struct {
	field    string
	operator string
	constant string // a number, true, false, null, or a string in double quotes
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
			return nil, fmt.Errorf("the condition %q: %q is no further comparison", text, rest)
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
