// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"strconv"
)

// ParseDefault reads the default of a field of that kind: a bool, a string, an int64
// (for a duration, too: its nanoseconds), a uint64, or a float64. "" means no default: nil.
func ParseDefault(kind, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	k, ok := ParseKind(kind)
	if !ok || k.Wrap != "" {
		return nil, fmt.Errorf("a field of kind %s: %w", kind, errNoDefault)
	}
	value, err := parseLiteral(k.Base, text)
	var number *strconv.NumError
	if errors.As(err, &number) {
		err = number.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a value of kind %s: %w", text, kind, err)
	}
	return value, nil
}

var errNoDefault = errors.New("only numbers, strings, bools and durations have defaults")

func parseLiteral(base, text string) (any, error) {
	switch base {
	case "bool":
		if text != "true" && text != "false" {
			return nil, strconv.ErrSyntax
		}
		return text == "true", nil
	case "string":
		return strconv.Unquote(text)
	case "duration":
		return strconv.ParseInt(text, 10, 64)
	case "float":
		return strconv.ParseFloat(text, 32)
	case "double":
		return strconv.ParseFloat(text, 64)
	}
	if bits, found := bitsOf(base, "int"); found {
		return strconv.ParseInt(text, 10, bits)
	}
	if bits, found := bitsOf(base, "uint"); found {
		return strconv.ParseUint(text, 10, bits)
	}
	return nil, errNoDefault
}
