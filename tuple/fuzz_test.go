// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzSeeds are packed tuples of every kind, whole, cut short and joined.
func fuzzSeeds() [][]byte {
	whole := Tuple{
		nil,
		[]byte{0, 0xff},
		"a\x00b",
		Tuple{nil, Tuple{}, "n\x00"},
		0, 255, -256, int64(-1 << 63), uint64(1<<64 - 1),
		float32(-1.5), 2.5, true, false,
		UUID{1},
		Versionstamp{User: 7},
	}.MustPack()
	whole = AppendInt128(AppendInt128(whole, 1, 0), -2, 0)
	seeds := [][]byte{nil, whole, []byte("\x01i\xff\xff\x01\x01\x00\xff\xff"), []byte("\x0c\x00\x00\x00\x00\x00\x00\x00\x00")}
	for i := 0; i < len(whole); i += 3 {
		seeds = append(seeds, whole[:i], whole[i:])
	}
	return seeds
}

// FuzzUnpack holds, for any bytes: nothing panics; Next, Skip, the typed
// readers and Subspace see the elements that Unpack sees; what was unpacked is
// packed and unpacked to the same again, in canonical form.
func FuzzUnpack(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Unpack(b)
		stepped, stepErr := stepThrough(t, b)
		if Describe(b) == "" {
			t.Errorf("Describe(%x) is empty", b)
		}
		if err != nil {
			checkDecodeError(t, b, err)
			if stepErr == nil {
				t.Fatalf("Unpack refuses %x, which Next accepts: %v", b, err)
			}
			return
		}
		if diff := cmp.Diff(got, stepped, exact...); diff != "" || stepErr != nil {
			t.Fatalf("Next: %v; mismatch (-Unpack +Next):\n%s", stepErr, diff)
		}
		checkRepacked(t, got)
	})
}

// stepThrough decodes b by Next, and checks Skip and the typed readers by it.
func stepThrough(t *testing.T, b []byte) (Tuple, error) {
	out := Tuple{}
	for len(b) > 0 {
		element, rest, err := Next(b)
		skipped, skipErr := Skip(b)
		if (err == nil) != (skipErr == nil) || err == nil && len(rest) != len(skipped) {
			t.Fatalf("Next(%x) leaves %x, %v; Skip leaves %x, %v", b, rest, err, skipped, skipErr)
		}
		accepted := 0
		for _, read := range readers {
			if _, left, err := read(b); err == nil {
				accepted++
				if len(left) != len(rest) {
					t.Fatalf("a typed reader leaves %x of %x, Next leaves %x", left, b, rest)
				}
			}
		}
		if err != nil {
			if accepted != 0 {
				t.Fatalf("%d typed readers accept %x, Next does not: %v", accepted, b, err)
			}
			return nil, err
		}
		if accepted != 1 {
			t.Fatalf("%d typed readers accept %x", accepted, b)
		}
		out, b = append(out, element), rest
	}
	return out, nil
}

func checkDecodeError(t *testing.T, b []byte, err error) {
	var fail *decodeError
	if !errors.As(err, &fail) || !errors.Is(err, ErrMalformed) {
		t.Fatalf("Unpack(%x): %v, want a *decodeError that wraps ErrMalformed", b, err)
	}
	if fail.Offset < 0 || fail.Offset >= len(b) || b[fail.Offset] != fail.Code {
		t.Fatalf("Unpack(%x): %v: the offset or the code is wrong", b, err)
	}
}

// checkRepacked checks that packing what came from any bytes is a fixed point.
func checkRepacked(t *testing.T, got Tuple) {
	packed, err := got.Pack()
	if err != nil {
		if !hasIncomplete(got) {
			t.Fatalf("Pack of the unpacked %v: %v", got, err)
		}
		return
	}
	again, err := Unpack(packed)
	if err != nil {
		t.Fatalf("Unpack(Pack(%v)): %v", got, err)
	}
	if modelCompare(got, again) != 0 || !bytes.Equal(again.MustPack(), packed) {
		t.Fatalf("%v packs to %x, which unpacks to %v", got, packed, again)
	}
	if diff := cmp.Diff(modelUnpacked(got), again, exact...); diff != "" {
		t.Fatalf("mismatch (-want +got):\n%s", diff)
	}
}

func hasIncomplete(t Tuple) bool {
	for _, element := range t {
		switch v := element.(type) {
		case Versionstamp:
			if v.IsIncomplete() {
				return true
			}
		case Tuple:
			if hasIncomplete(v) {
				return true
			}
		}
	}
	return false
}

// FuzzOrder holds, for any two tuples, that the order of their bytes is the
// order of their values, by Compare and by the naive model.
func FuzzOrder(f *testing.F) {
	seeds := fuzzSeeds()
	for i, seed := range seeds {
		f.Add(seed, seeds[(i+1)%len(seeds)])
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, keyA, keyB []byte) {
		a, errA := Unpack(keyA)
		b, errB := Unpack(keyB)
		if errA != nil || errB != nil || hasIncomplete(a) || hasIncomplete(b) {
			t.Skip("no two tuples")
		}
		want := modelCompare(a, b)
		if got := bytes.Compare(a.MustPack(), b.MustPack()); got != want {
			t.Fatalf("byte order %d, tuple order %d of\n%v\n%v", got, want, a, b)
		}
		if got := Compare(a, b); got != want {
			t.Fatalf("Compare %d, tuple order %d of\n%v\n%v", got, want, a, b)
		}
	})
}

// FuzzText holds that any two contents come back and keep their order, as byte
// strings and as strings, even where another element follows.
func FuzzText(f *testing.F) {
	f.Add([]byte("a"), []byte("a\x00"))
	f.Add([]byte("a\x00\xff"), []byte("a\x00\x01"))
	f.Add([]byte{}, []byte{0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		want := bytes.Compare(a, b)
		if got := bytes.Compare(AppendBytes(nil, a), AppendBytes(nil, b)); got != want {
			t.Errorf("byte strings %x and %x: order %d, want %d", a, b, got, want)
		}
		packedA, packedB := AppendNil(AppendString(nil, string(a))), AppendInt(AppendString(nil, string(b)), 1)
		if got := bytes.Compare(packedA, packedB); want != 0 && got != want {
			t.Errorf("strings %x and %x: order %d, want %d", a, b, got, want)
		}
		if got, rest, err := ReadString(packedA); err != nil || got != string(a) || !IsNil(rest) {
			t.Errorf("string %x came back as %x, %x, %v", a, got, rest, err)
		}
		if got, _, err := ReadBytes(AppendBytes(nil, b)); err != nil || !bytes.Equal(got, b) {
			t.Errorf("byte string %x came back as %x, %v", b, got, err)
		}
	})
}
