// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// named returns the scalar with the names of constants in place of the numbers that have one.
// A text that is a constant's value needs no other name: it is shown, and taken, as it is stored.
func (s *scalar) named(e *schema.Enum) *scalar {
	if s.json != jsonInteger {
		return s
	}
	var names []string
	for _, c := range e.Constants {
		if !c.Any {
			names = append(names, c.Name)
		}
	}
	one := *s
	one.json, one.wanted = jsonName, strings.Join(names, ", ")+", or "+s.wanted
	one.text = func(v any) string {
		number := s.text(v)
		if name := e.NameOf(number); name != "" {
			return name
		}
		return number
	}
	one.parse = func(text string) (any, error) {
		if c := e.Constant(text); c != nil && !c.Any {
			text = c.Value
		}
		return s.parse(text)
	}
	return &one
}

// isInteger reports whether the text of a named value is its number.
func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	_, errUnsigned := strconv.ParseUint(text, 10, 64)
	return err == nil || errUnsigned == nil
}
