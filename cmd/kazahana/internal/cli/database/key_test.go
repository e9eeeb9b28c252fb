// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestParseKey parses each form of a key, and texts that are not keys.
func TestParseKey(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"abc", "abc"},
		{`\x00\xff\\`, "\x00\xff\\"},
		{"0x00ff", "\x00\xff"},
		{"()", ""},
		{`( "a" , 1 )`, "\x02a\x00\x15\x01"},
		{`\x28a`, "(a"},
	} {
		if key, err := ParseKey(test.text); err != nil || string(key) != test.want {
			t.Errorf("%s: %q, %v, want %q", test.text, key, err, test.want)
		}
	}
	for _, text := range []string{`\`, `\x`, `\x0`, `\xg0`, `\n`, "0x0", "0xg0", "(", `("a`, `("a" 1)`, "(a)", "(1) 2", "(0x0)", "(1,,2)", "(1.5.5f)"} {
		if key, err := ParseKey(text); err == nil {
			t.Errorf("%s is read as %q", text, key)
		}
	}
}

// TestKeysReadBack writes random keys and tuples as text, and reads them.
func TestKeysReadBack(t *testing.T) {
	random := seed.Rand(t)
	for range 10_000 {
		key := randomBytes(random)
		if back, err := ParseKey(FormatKey(key)); err != nil || !bytes.Equal(back, key) {
			t.Fatalf("%q: %q, %v by way of %s", key, back, err, FormatKey(key))
		}
		elements := randomTuple(random, 0)
		packed, err := elements.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseKey(elements.String()); err != nil || !bytes.Equal(back, packed) {
			t.Fatalf("%s: %x, %v, want %x", elements, back, err, packed)
		}
	}
}

func randomBytes(random *rand.Rand) []byte {
	const odd = "(0x\\a \x00\xff\x7fé"
	key := make([]byte, random.IntN(6))
	for i := range key {
		key[i] = odd[random.IntN(len(odd))]
	}
	return key
}

func randomTuple(random *rand.Rand, depth int) tuple.Tuple {
	t := tuple.Tuple{}
	for range random.IntN(4) {
		t = append(t, randomElement(random, depth))
	}
	return t
}

func randomElement(random *rand.Rand, depth int) any {
	switch kind := random.IntN(9); {
	case kind == 0 && depth < 4:
		return randomTuple(random, depth+1)
	case kind == 1:
		return string(randomBytes(random))
	case kind == 2:
		return randomBytes(random)
	case kind == 3:
		return random.IntN(2) == 0
	case kind == 4:
		return []float64{0, -1, 1.5, 1e300, math.Inf(-1)}[random.IntN(5)]
	case kind == 5:
		return []float32{0, -1, 1.5, 1e30, float32(math.Inf(1))}[random.IntN(5)]
	case kind == 6:
		return new(big.Int).Lsh(big.NewInt(random.Int64()), uint(random.IntN(100)))
	case kind == 7:
		return nil
	}
	return random.Int64() - random.Int64()
}
