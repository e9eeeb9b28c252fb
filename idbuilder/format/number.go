// SPDX-License-Identifier: Apache-2.0

package format

import (
	"math"
	"strconv"
	"strings"
)

// number is a compiled auto-increment part.
type number struct {
	base    int
	length  int
	fixed   bool
	suffix  bool
	padding string
	max     int64 // the last number that fits
}

func newNumber(p Part) *number {
	n := &number{base: p.NumberBase, length: p.Length, fixed: p.LengthFixed, suffix: p.PaddingMode == "suffix", padding: p.PaddingChar, max: math.MaxInt64}
	if n.base == 0 {
		n.base = 10
	}
	if n.padding == "" {
		n.padding = "0"
	}
	if n.fixed {
		n.max = lastOf(n.base, n.length)
	}
	return n
}

// lastOf returns the greatest number of so many digits, at most that of an int64.
func lastOf(base, digits int) int64 {
	last := int64(0)
	for range digits {
		if last > (math.MaxInt64-int64(base)+1)/int64(base) {
			return math.MaxInt64
		}
		last = last*int64(base) + int64(base) - 1
	}
	return last
}

// appendTo appends the number v, which must not be negative.
func (n *number) appendTo(dst []byte, v int64) ([]byte, error) {
	if v > n.max || v < 0 {
		return dst, ErrExhausted
	}
	var digits [64]byte
	text := strconv.AppendInt(digits[:0], v, n.base)
	missing := max(n.length-len(text), 0)
	if !n.suffix {
		dst = append(dst, strings.Repeat(n.padding, missing)...)
	}
	dst = append(dst, text...)
	if n.suffix {
		dst = append(dst, strings.Repeat(n.padding, missing)...)
	}
	return dst, nil
}

// isDigit reports whether a character is a digit of the base.
func isDigit(c rune, base int) bool {
	return strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz"[:base], c)
}
