// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Compare returns -1, 0 or +1: the order of the packed tuples, found on the
// values without packing them. Integers of different Go types compare by
// value. Elements that [Tuple.Pack] refuses for their type sort after all
// others and equal each other.
func Compare(a, b Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareElements(a, b any) int {
	rank := rankOf(a)
	if c := cmp.Compare(rank, rankOf(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case string:
		return strings.Compare(a, b.(string))
	case Tuple:
		return Compare(a, b.(Tuple))
	case float32:
		x, y := math.Float32bits(a), math.Float32bits(b.(float32))
		return cmp.Compare(x^flip32(x), y^flip32(y))
	case float64:
		x, y := math.Float64bits(a), math.Float64bits(b.(float64))
		return cmp.Compare(x^flip64(x), y^flip64(y))
	case UUID:
		other := b.(UUID)
		return bytes.Compare(a[:], other[:])
	case Versionstamp:
		other := b.(Versionstamp)
		return cmp.Or(bytes.Compare(a.Transaction[:], other.Transaction[:]), cmp.Compare(a.User, other.User))
	}
	if rank == codeZero {
		return compareIntegers(a, b)
	}
	return 0
}

// rankOf returns the place of the element's kind among the kinds: a type code
// of that kind.
func rankOf(element any) int {
	switch v := element.(type) {
	case nil:
		return codeNil
	case []byte:
		return codeBytes
	case string:
		return codeString
	case Tuple:
		return codeNested
	case float32:
		return codeFloat32
	case float64:
		return codeFloat64
	case bool:
		if v {
			return codeTrue
		}
		return codeFalse
	case UUID:
		return codeUUID
	case Versionstamp:
		return codeVersionstamp
	case *big.Int:
		if v != nil {
			return codeZero
		}
	}
	if _, _, ok := goInteger(element); ok {
		return codeZero
	}
	return escape
}

func compareIntegers(a, b any) int {
	negativeA, x, smallA := goInteger(a)
	negativeB, y, smallB := goInteger(b)
	switch {
	case !smallA || !smallB:
		return bigOf(a).Cmp(bigOf(b))
	case negativeA && negativeB:
		return cmp.Compare(y, x)
	case negativeA:
		return -1
	case negativeB:
		return 1
	}
	return cmp.Compare(x, y)
}

// bigOf returns an integer element of any type.
func bigOf(element any) *big.Int {
	negative, magnitude, small := goInteger(element)
	if !small {
		return element.(*big.Int)
	}
	v := new(big.Int).SetUint64(magnitude)
	if negative {
		v.Neg(v)
	}
	return v
}

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
