// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Describe returns a packed key for humans: as [Tuple.String], and, where no
// element can be decoded any more, the rest in hexadecimal, like
//
//	("R", "User") + 0xfe01
func Describe(key []byte) string {
	t := Tuple{}
	for len(key) > 0 {
		element, rest, err := Next(key)
		if err != nil {
			break
		}
		t, key = append(t, element), rest
	}
	switch {
	case len(key) == 0:
		return t.String()
	case len(t) == 0:
		return "0x" + hex.EncodeToString(key)
	}
	return t.String() + " + 0x" + hex.EncodeToString(key)
}

func appendTupleText(dst []byte, t Tuple) []byte {
	dst = append(dst, '(')
	for i, element := range t {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendElementText(dst, element)
	}
	return append(dst, ')')
}

func appendElementText(dst []byte, element any) []byte {
	switch v := element.(type) {
	case nil:
		return append(dst, "nil"...)
	case string:
		return strconv.AppendQuote(dst, v)
	case []byte:
		return hex.AppendEncode(append(dst, "0x"...), v)
	case Tuple:
		return appendTupleText(dst, v)
	case float32:
		return append(appendFloatText(dst, float64(v), 32), 'f')
	case float64:
		return appendFloatText(dst, v, 64)
	case *big.Int:
		return v.Append(dst, 10)
	}
	return fmt.Append(dst, element)
}

func appendFloatText(dst []byte, v float64, size int) []byte {
	s := strconv.FormatFloat(v, 'g', -1, size)
	dst = append(dst, s...)
	if strings.ContainsAny(s, ".eIN") {
		return dst
	}
	return append(dst, ".0"...)
}
