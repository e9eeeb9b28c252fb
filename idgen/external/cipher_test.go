// SPDX-License-Identifier: Apache-2.0

package external

import (
	"encoding/hex"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// vectors are published: Speck's from appendix C of the paper, with the key in
// the byte order of the implementation guide; XTEA's are those that
// implementations have in common (libtomcrypt, Crypto++, Go's x/crypto).
var vectors = []struct {
	name          string
	cipher        Cipher
	key           string
	plain, secret uint64
}{
	{"Speck64/128", Speck64, "0001020308090a0b1011121318191a1b", 0x3b7265747475432d, 0x8c6fa548454e028b},
	{"XTEA 1", XTEA, "000102030405060708090a0b0c0d0e0f", 0x4142434445464748, 0x497df3d072612cb5},
	{"XTEA 2", XTEA, "000102030405060708090a0b0c0d0e0f", 0x4141414141414141, 0xe78f2d13744341d8},
	{"XTEA 3", XTEA, "000102030405060708090a0b0c0d0e0f", 0x5a5b6e278948d77f, 0x4141414141414141},
	{"XTEA 4", XTEA, "00000000000000000000000000000000", 0x4142434445464748, 0xa0390589f8b8efa5},
	{"XTEA 5", XTEA, "00000000000000000000000000000000", 0x4141414141414141, 0xed23375a821a8c2d},
	{"XTEA 6", XTEA, "00000000000000000000000000000000", 0x70e1225d6e4e7655, 0x4141414141414141},
}

func TestCipherVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			key, err := hex.DecodeString(v.key)
			if err != nil {
				t.Fatal(err)
			}
			block := v.cipher.schedule([16]byte(key))
			if got := block.forward(v.plain); got != v.secret {
				t.Errorf("%#x becomes %#x, want %#x", v.plain, got, v.secret)
			}
			if got := block.backward(v.secret); got != v.plain {
				t.Errorf("%#x comes from %#x, want %#x", v.secret, got, v.plain)
			}
		})
	}
}

// TestScrambleInverses checks the constants: a factor times its inverse is 1.
func TestScrambleInverses(t *testing.T) {
	for factor, inverse := range map[uint64]uint64{factor1: inverse1, factor2: inverse2} {
		if product := factor * inverse; product != 1 {
			t.Errorf("%#x × %#x is %#x, want 1", factor, inverse, product)
		}
	}
}

func TestPermutationsUndoThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))
		v := rapid.Uint64().Draw(t, "v")
		for name, p := range map[string]permutation{
			"plain": plain{}, "scramble": scramble{}, "speck": newSpeck(key), "xtea": newXTEA(key),
		} {
			if got := p.backward(p.forward(v)); got != v {
				t.Errorf("%s: %#x comes back as %#x", name, v, got)
			}
			if got := p.forward(p.backward(v)); got != v {
				t.Errorf("%s: %#x comes forth as %#x", name, v, got)
			}
		}
	})
}

// TestPermutationsMix checks that each bit of an ID changes each bit of its
// external form in about half of all cases: 256 samples are within 64 of 128
// but for one chance in 10^14.
func TestPermutationsMix(t *testing.T) {
	const samples = 256
	key := [16]byte{3, 1, 4, 1, 5, 9, 2, 6}
	for name, p := range map[string]permutation{"scramble": scramble{}, "speck": newSpeck(key), "xtea": newXTEA(key)} {
		for in := range 64 {
			var flips [64]int
			for i := range uint64(samples) {
				v := 211469771380744768 + i*0x10003
				for changed := p.forward(v) ^ p.forward(v^1<<in); changed != 0; changed &= changed - 1 {
					flips[bits.TrailingZeros64(changed)]++
				}
			}
			for out, n := range flips {
				if n < samples/4 || n > samples*3/4 {
					t.Errorf("%s: bit %d changes bit %d in %d of %d cases", name, in, out, n, samples)
				}
			}
		}
	}
}
