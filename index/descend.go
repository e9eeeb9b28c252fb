// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

const (
	bytesCode   = 0x01 // begins a tuple's byte string
	escapedZero = 0xff // follows a zero byte within one
)

var errNotDescended = errors.New("index: the element is not one in descending order")

// Descend replaces the tuple element k[n:] by one that sorts in the opposite
// order: a byte string of the complement of the element and a zero byte. null,
// which sorts first, then sorts last. It allocates nothing beyond the growth of k.
//
// The zero byte keeps the order of elements of which one begins with the other: the
// strings "a" and "a\x00b" are 02 61 00 and 02 61 00 ff 62 00. Behind the first, the
// zero byte is compared with the second's ff. So no element with its zero byte
// begins with another, and complements compare the other way round.
func Descend(k []byte, n int) []byte {
	escapes := bytes.Count(k[n:], []byte{0xff}) // which become zero bytes
	from, size := len(k), len(k)-n
	k = slices.Grow(k, escapes+3)[:len(k)+escapes+3] // code, complement of the zero byte, end
	to := len(k)
	k[to-1], k[to-2] = 0, 0xff
	to -= 2
	for range size {
		from--
		c := ^k[from]
		if c == 0 {
			to--
			k[to] = escapedZero
		}
		to--
		k[to] = c
	}
	k[n] = bytesCode
	return k
}

// ReadDescended appends to dst the element that [Descend] replaced by the one that b
// begins with, and returns what follows in b.
func ReadDescended(dst, b []byte) (element, rest []byte, err error) {
	if len(b) == 0 || b[0] != bytesCode {
		return dst, nil, errNotDescended
	}
	complement, rest, err := tuple.ReadBytes(b)
	if err != nil {
		return dst, nil, err
	}
	last, ended := len(complement)-1, b[len(b)-len(rest)-1] == 0 // package tuple reads some that are cut off
	if last < 1 || complement[last] != 0xff || !ended {
		return dst, nil, errNotDescended
	}
	n := len(dst)
	dst = append(dst, complement[:last]...)
	for i := n; i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	if after, err := tuple.Skip(dst[n:]); err != nil || len(after) > 0 {
		return dst[:n], nil, errNotDescended
	}
	return dst, rest, nil
}

// Descending returns the encoder whose elements sort in the opposite order of those
// of enc.
func Descending[T any](enc func([]byte, T) []byte) func([]byte, T) []byte {
	return func(b []byte, v T) []byte { return Descend(enc(b, v), len(b)) }
}
