// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestBoundsAgainstComparisons narrows bounds at random, and compares what they
// contain with comparisons of the values.
func TestBoundsAgainstComparisons(t *testing.T) {
	value := rapid.SampledFrom([]any{nil, "", "\x00", "a", "a\x00", "a\x00\xff", "a\xff", "b", int64(-1), int64(0), int64(255), int64(256)})
	rapid.Check(t, func(t *rapid.T) {
		var b index.Bounds
		equals := rapid.SliceOfN(value, 0, 2).Draw(t, "equal")
		for _, v := range equals {
			b = b.Equal(tuple.Tuple{v}.MustPack())
		}
		var tests []func(order func(any) int) bool
		for range rapid.IntRange(0, 4).Draw(t, "narrowings") {
			v := value.Draw(t, "bound")
			packed := tuple.Tuple{v}.MustPack()
			switch rapid.IntRange(0, 3).Draw(t, "side") {
			case 0:
				b = b.From(packed)
				tests = append(tests, func(order func(any) int) bool { return order(v) >= 0 })
			case 1:
				b = b.After(packed)
				tests = append(tests, func(order func(any) int) bool { return order(v) > 0 })
			case 2:
				b = b.To(packed)
				tests = append(tests, func(order func(any) int) bool { return order(v) <= 0 })
			case 3:
				b = b.Before(packed)
				tests = append(tests, func(order func(any) int) bool { return order(v) < 0 })
			}
		}
		key := tuple.Tuple{}
		for i := range 3 {
			v := value.Draw(t, "value")
			if i < len(equals) && rapid.IntRange(0, 4).Draw(t, "same") > 0 {
				v = equals[i]
			}
			key = append(key, v)
		}
		want := true
		for i, v := range equals {
			want = want && tuple.Compare(tuple.Tuple{key[i]}, tuple.Tuple{v}) == 0
		}
		for _, test := range tests {
			want = want && test(func(v any) int { return tuple.Compare(tuple.Tuple{key[len(equals)]}, tuple.Tuple{v}) })
		}
		suffix := tuple.Tuple{}.MustPack()
		suffix = append(suffix, key.MustPack()...)
		if got := b.Contains(suffix); got != want {
			t.Fatalf("Contains(%v) = %v, want %v", key, got, want)
		}
		r := b.Range([]byte("prefix"))
		if bytes.Compare(r.Begin, r.End) > 0 {
			t.Fatalf("the range %q is inverted", r)
		}
		// Behind a key, in either direction, is what is beyond it.
		if want {
			if b.Resume(suffix, false).Contains(suffix) || b.Resume(suffix, true).Contains(suffix) {
				t.Fatal("the key at which a scan resumes comes again")
			}
		}
	})
}

func TestBoundsDiffer(t *testing.T) {
	v := tuple.Tuple{"v"}.MustPack()
	seen := map[string]int{}
	for i, b := range []index.Bounds{
		{},
		index.Bounds{}.Equal(v), index.Bounds{}.From(v), index.Bounds{}.After(v), index.Bounds{}.To(v), index.Bounds{}.Before(v),
		index.Bounds{}.Equal(v).From(v), index.Bounds{}.Equal(v).Equal(v),
	} {
		text := string(b.AppendBytes(nil))
		if other, ok := seen[text]; ok {
			t.Errorf("the bounds %d and %d have one encoding", i, other)
		}
		seen[text] = i
	}
}
