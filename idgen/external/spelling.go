// SPDX-License-Identifier: Apache-2.0

package external

import "fmt"

// Len is the length of an external ID: 64 bits take eleven characters of six,
// which leaves two bits for the version of the key.
const Len = 11

const versionBits = 2

// alphabet is base64url's, RFC 4648 section 5.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// values is the inverse of alphabet; 0xff for every other byte.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = 0xff
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// spell writes a block, most significant bits first, and a version in the bits
// that are left. With version 0 that is base64url without padding of the eight
// bytes.
func spell(block, version uint64) (text [Len]byte) {
	last := block<<versionBits | version
	for i := Len - 1; i > 0; i-- {
		text[i] = alphabet[last&63]
		last >>= 6
	}
	text[0] = alphabet[block>>58]
	return text
}

// read is the inverse of spell: every text that is not an error comes from one
// block and version only.
func read[T string | []byte](text T) (block, version uint64, err error) {
	if len(text) != Len {
		return 0, 0, fmt.Errorf("%w: it has %d bytes", ErrSpelling, len(text))
	}
	var last uint64
	for i := range Len {
		if last = uint64(values[text[i]]); last == 0xff {
			return 0, 0, fmt.Errorf("%w: byte %d is %q", ErrSpelling, i, text[i])
		}
		if i < Len-1 {
			block = block<<6 | last
		}
	}
	return block<<(6-versionBits) | last>>versionBits, last & (versions - 1), nil
}
