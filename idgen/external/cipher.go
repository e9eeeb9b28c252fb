// SPDX-License-Identifier: Apache-2.0

package external

// schedule expands a key.
func (c Cipher) schedule(key [16]byte) permutation {
	if c == XTEA {
		return newXTEA(key)
	}
	return newSpeck(key)
}

// Cipher is the block cipher of a [Keyed] codec: 64 bits under a key of 128.
type Cipher int

// String returns "speck64" or "xtea".
func (c Cipher) String() string { return name([]string{"speck64", "xtea"}, int(c), "Cipher") }
