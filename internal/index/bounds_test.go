// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/index"
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
		// After a key, in either direction, is what is beyond it.
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

// TestShardsNeverChange pins the hash: stored keys depend on it. The wanted
// numbers were computed by another program.
func TestShardsNeverChange(t *testing.T) {
	for _, c := range []struct {
		id   any
		want int // of 256
	}{
		{"id", 0x6d},
		{int64(0x0102030405060708), 0x68},
		{1, 0x32},
		{0, 0x16},
		{tuple.UUID{15: 1}, 0x51},
		{"", 0x00},
	} {
		id := tuple.Tuple{c.id}.MustPack()
		for n, bits := index.Shards(2), 1; n <= index.MaxShards; n, bits = 2*n, bits+1 {
			if got := n.Of(id); got != c.want>>(8-bits) {
				t.Errorf("%v is in the shard %d of %d, want %d", c.id, got, n, c.want>>(8-bits))
			}
		}
	}
}

// TestShardsAreEven: ids as they are made in a row, or one in so many of them,
// fill all shards alike, by Pearson's chi-squared test. The ids are fixed, so
// the outcome is.
func TestShardsAreEven(t *testing.T) {
	const ids = 256 * 64
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).UnixMilli()
	for name, id := range map[string]func(i int64) any{
		"in a row":          func(i int64) any { return start<<22 + i },
		"one a millisecond": func(i int64) any { return start<<22 + i<<22 },
		"one in 256":        func(i int64) any { return start<<22 + i<<8 },
		"from 1":            func(i int64) any { return i + 1 },
		"text":              func(i int64) any { return fmt.Sprintf("order-%06d", i) },
		"ULID in a row": func(i int64) any {
			return tuple.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, byte(i >> 16), byte(i >> 8), byte(i)}
		},
	} {
		for n := index.Shards(2); n <= index.MaxShards; n *= 2 {
			counts := make([]float64, n)
			for i := range int64(ids) {
				counts[n.Of(tuple.Tuple{id(i)}.MustPack())]++
			}
			mean, chi := float64(ids)/float64(n), 0.0
			for _, count := range counts {
				chi += (count - mean) * (count - mean) / mean
			}
			// Mean and deviation of the distribution are n-1 and sqrt(2(n-1)).
			if d := float64(n - 1); (chi-d)*(chi-d) > 25*2*d {
				t.Errorf("%s: over %d shards chi squared is %.0f", name, n, chi)
			}
		}
	}
}

func TestShardElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := index.Shards(rapid.SampledFrom([]int{0, 2, 16, 128, 256}).Draw(t, "n"))
		id := tuple.AppendBytes(nil, rapid.SliceOf(rapid.Byte()).Draw(t, "id"))
		key := append(n.Append([]byte("prefix"), id), id...)
		shard, rest, err := n.Cut(key[len("prefix"):])
		if err != nil || shard != n.Of(id) || !bytes.Equal(rest, id) {
			t.Fatalf("cut %x into %d and %x: %v", key, shard, rest, err)
		}
		if n == 0 && len(key) != len("prefix")+len(id) {
			t.Fatalf("a key that is not scattered is %x", key)
		}
		if n == 0 {
			return
		}
		for _, wrong := range []int64{-1, int64(n)} {
			if _, _, err := n.Cut(tuple.AppendInt(nil, wrong)); err == nil {
				t.Fatalf("the shard %d of %d was accepted", wrong, n)
			}
		}
		if _, _, err := n.Cut([]byte("\x02a\x00")); err == nil {
			t.Fatal("a text was accepted as a shard")
		}
	})
}

func TestShardsValidate(t *testing.T) {
	valid := map[index.Shards]bool{0: true, 2: true, 4: true, 8: true, 16: true, 32: true, 64: true, 128: true, 256: true}
	for n := index.Shards(-256); n < 1024; n++ {
		if err := n.Validate(); (err == nil) != valid[n] {
			t.Errorf("%d shards: %v", n, err)
		}
	}
}

// TestScatteredEntries: the shard of the id comes before the values, for all
// entries of a record; a definition's layout tells the number of shards.
func TestScatteredEntries(t *testing.T) {
	d := &index.Definition{Name: "T_A", Fields: []string{"A"}, Signature: "[]int", Scatter: 16}
	ix := index.Index{Definition: d, Prefix: d.AppendPrefix(nil), State: index.Readable}
	id := tuple.Tuple{"id"}.MustPack()
	var set index.Set
	e := set.Open(&ix, id)
	for _, v := range []int64{7, 5} {
		e.End(tuple.AppendInt(e.Begin(), v))
	}
	if err := set.Close(&ix); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{`("I", "T_A", 6, 5, "id")`, `("I", "T_A", 6, 7, "id")`} {
		key := set.Key(0, n)
		if got := tuple.Describe(key); got != want {
			t.Errorf("entry %s, want %s", got, want)
		}
		values, owner, err := d.Split(key[len(ix.Prefix):])
		if err != nil || !bytes.Equal(owner, id) || tuple.Describe(values) != fmt.Sprintf("(%d)", 5+2*n) {
			t.Errorf("split into %s and %s: %v", tuple.Describe(values), tuple.Describe(owner), err)
		}
	}
	if got := d.Layout(); got != "A:[]int:scatter=16" {
		t.Errorf("the layout is %s", got)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	d.Unique = true
	if d.Validate() == nil {
		t.Error("a unique index was scattered")
	}
}

func BenchmarkShard(b *testing.B) {
	id := tuple.Tuple{int64(0x0102030405060708)}.MustPack()
	for b.Loop() {
		index.Shards(16).Of(id)
	}
}
