// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
)

func TestSelectorConstructors(t *testing.T) {
	k := []byte("k")
	for _, tt := range []struct {
		got  kv.KeySelector
		want kv.KeySelector
		text string
	}{
		{kv.LastLessThan(k), kv.KeySelector{Key: k, OrEqual: false, Offset: 0}, `LastLessThan("k")`},
		{kv.LastLessOrEqual(k), kv.KeySelector{Key: k, OrEqual: true, Offset: 0}, `LastLessOrEqual("k")`},
		{kv.FirstGreaterThan(k), kv.KeySelector{Key: k, OrEqual: true, Offset: 1}, `FirstGreaterThan("k")`},
		{kv.FirstGreaterOrEqual(k), kv.KeySelector{Key: k, OrEqual: false, Offset: 1}, `FirstGreaterOrEqual("k")`},
		{kv.FirstGreaterOrEqual(k).Add(3), kv.KeySelector{Key: k, Offset: 4}, `FirstGreaterOrEqual("k")+3`},
		{kv.FirstGreaterThan(k).Add(-1), kv.KeySelector{Key: k, OrEqual: true}, `LastLessOrEqual("k")`},
		{kv.LastLessThan(k).Add(-2), kv.KeySelector{Key: k, Offset: -2}, `LastLessThan("k")-2`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", tt.text, diff)
		}
		if got := tt.got.String(); got != tt.text {
			t.Errorf("String() = %s, want %s", got, tt.text)
		}
	}
}

// resolve finds the key a selector names in sorted keys: the definition,
// counted out.
func resolve(s kv.KeySelector, keys []string) int {
	at := -1 // the last key less than (or equal to) s.Key
	for i, k := range keys {
		if k < string(s.Key) || s.OrEqual && k == string(s.Key) {
			at = i
		}
	}
	return at + s.Offset
}

func TestSelectorsNameWhatTheySay(t *testing.T) {
	keys := []string{"a", "c", "e"}
	for _, tt := range []struct {
		sel  kv.KeySelector
		want int
	}{
		{kv.LastLessThan([]byte("c")), 0},
		{kv.LastLessOrEqual([]byte("c")), 1},
		{kv.FirstGreaterOrEqual([]byte("c")), 1},
		{kv.FirstGreaterThan([]byte("c")), 2},
		{kv.LastLessThan([]byte("d")), 1},
		{kv.LastLessOrEqual([]byte("d")), 1},
		{kv.FirstGreaterOrEqual([]byte("d")), 2},
		{kv.FirstGreaterThan([]byte("d")), 2},
		{kv.LastLessThan([]byte("a")), -1},
		{kv.FirstGreaterThan([]byte("e")), 3},
	} {
		if got := resolve(tt.sel, keys); got != tt.want {
			t.Errorf("%v names key %d, want %d", tt.sel, got, tt.want)
		}
	}
}

func TestRangeSelectors(t *testing.T) {
	r := kv.KeyRange{Begin: []byte("a"), End: []byte("b")}
	want := kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(r.Begin), End: kv.FirstGreaterOrEqual(r.End)}
	if diff := cmp.Diff(want, r.Selectors()); diff != "" {
		t.Errorf("Selectors() mismatch (-want +got):\n%s", diff)
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, tt := range []struct {
		prefix, want string
		ok           bool
	}{
		{"a", "b", true},
		{"a\xff", "b", true},
		{"a\xff\xff", "b", true},
		{"a\xfe", "a\xff", true},
		{"\xfe", "\xff", true},
		{"\x00", "\x01", true},
		{"\xff\x00", "\xff\x01", true},
		{"", "", false},
		{"\xff", "", false},
		{"\xff\xff", "", false},
	} {
		got, ok := kv.PrefixEnd([]byte(tt.prefix))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("PrefixEnd(%q) = %q, %t, want %q, %t", tt.prefix, got, ok, tt.want, tt.ok)
		}
	}
}

func TestPrefixRangeOfNothingEndsBelowTheSpecialKeys(t *testing.T) {
	for _, prefix := range []string{"", "\xff"} {
		got := kv.PrefixRange([]byte(prefix))
		want := kv.KeyRange{Begin: []byte(prefix), End: []byte("\xff\xff")}
		if !bytes.Equal(got.Begin, want.Begin) || !bytes.Equal(got.End, want.End) {
			t.Errorf("PrefixRange(%q) = %q, want %q", prefix, got, want)
		}
	}
}

// A key is in the prefix's range exactly if it begins with the prefix, and
// nothing lies between the prefix's keys and the end.
func TestPrefixRangeHoldsExactlyThePrefix(t *testing.T) {
	someBytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		prefix, key := someBytes.Draw(t, "prefix"), someBytes.Draw(t, "key")
		if _, ok := kv.PrefixEnd(prefix); !ok {
			t.Skip("no end")
		}
		r := kv.PrefixRange(prefix)
		inside := bytes.Compare(r.Begin, key) <= 0 && bytes.Compare(key, r.End) < 0
		if inside != bytes.HasPrefix(key, prefix) {
			t.Fatalf("%q in %q: %t", key, r, inside)
		}
	})
}

// The results of these functions must not share memory with their arguments.
func TestKeyFunctionsCopy(t *testing.T) {
	backing := []byte("key and more")
	key := backing[:3]
	end, _ := kv.PrefixEnd(key)
	after := kv.Successor(key)
	r := kv.PrefixRange(key)
	for i := range backing {
		backing[i] = '?'
	}
	got := fmt.Sprintf("%q %q %q %q", end, after, r.Begin, r.End)
	if want := `"kez" "key\x00" "key" "kez"`; got != want {
		t.Errorf("after the argument was overwritten: %s, want %s", got, want)
	}
}

// Nothing fits between a key and its successor.
func TestNothingBeforeSuccessor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		other := rapid.SliceOf(rapid.Byte()).Draw(t, "other")
		after := kv.Successor(key)
		if bytes.Compare(key, after) >= 0 {
			t.Fatalf("Successor(%q) = %q is not greater", key, after)
		}
		if bytes.Compare(key, other) < 0 && bytes.Compare(other, after) < 0 {
			t.Fatalf("%q lies between %q and %q", other, key, after)
		}
	})
}

func ExamplePrefixRange() {
	r := kv.PrefixRange([]byte("user/"))
	fmt.Printf("%q to %q\n", r.Begin, r.End)
	// Output: "user/" to "user0"
}

func ExampleKeySelector() {
	fmt.Println(kv.FirstGreaterThan([]byte("m")))
	fmt.Println(kv.LastLessThan([]byte("m")).Add(-2))
	// Output:
	// FirstGreaterThan("m")
	// LastLessThan("m")-2
}
