// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
)

var noLimits = Limits{Rows: Unlimited, Bytes: Unlimited}

// fill adds pairs of so many bytes until the batch is full, at most n, and returns how
// many it took.
func fill(b *Builder, n, size int) int {
	for i := range n {
		if b.Add([]byte(fmt.Sprintf("%04d", i)), make([]byte, size-4)) {
			return i + 1
		}
	}
	return n
}

// TestBuilderLimits fills batches: the pair that reaches a limit is the last one.
func TestBuilderLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		size   int
		want   int
	}{
		"rows":             {Limits{Rows: 3, Bytes: Unlimited}, 10, 3},
		"bytes":            {Limits{Rows: Unlimited, Bytes: 100}, 10, 3}, // a pair counts 24 bytes more
		"bytes, one large": {Limits{Rows: Unlimited, Bytes: 1}, 1000, 1},
		"a reply":          {Limits{Rows: Unlimited, Bytes: 1 << 30}, 976, 80},
		"none":             {noLimits, 976, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var b Builder
			b.Start(c.limits, new(SizeHint), nil)
			if got := fill(&b, 1000, c.size); got != c.want || b.Len() != c.want {
				t.Errorf("the batch was full after %d pairs and has %d, want %d", got, b.Len(), c.want)
			}
		})
	}
}

// TestBuilderCountsForTheClient gives a builder the limits of the client, too: they do
// not end the batch of the storage server.
func TestBuilderCountsForTheClient(t *testing.T) {
	var b Builder
	b.Start(noLimits, new(SizeHint), nil)
	b.CountAlso(Limits{Rows: 2, Bytes: 1000, Least: 1})
	b.Add([]byte("key"), []byte("value"))
	if b.Client().Reached() {
		t.Error("one pair of two has reached the client's limits")
	}
	if full := b.Add([]byte("key2"), []byte("value")); full || !b.Client().Reached() {
		t.Errorf("after two pairs the batch is full: %t; the client's limits are reached: %t", full, b.Client().Reached())
	}
	if want := (Limits{Rows: 0, Bytes: 1000 - 8 - 9 - 2*ClientPairCost}); *b.Client() != want {
		t.Errorf("the client's limits are %+v, want %+v", *b.Client(), want)
	}
}

// TestBuilderCopies lends pairs to a builder, overwrites them, and appends to what it
// returns.
func TestBuilderCopies(t *testing.T) {
	var b Builder
	front := []kv.KeyValue{{Key: []byte("front"), Value: []byte("0")}}
	b.Start(noLimits, new(SizeHint), front)
	lent := []byte("................")
	const n = 2000 // more than the memory that is asked for at a time
	for i := range n {
		key, value := fmt.Appendf(lent[:0], "%06d", i), fmt.Appendf(lent[6:6], "%0*d", i%9, i)[:i%9]
		b.AddCopy(key, value)
		if got := string(b.LastKey()); got != fmt.Sprintf("%06d", i) {
			t.Fatalf("the last key is %q", got)
		}
		copy(lent, "................")
	}
	pairs := b.Finish(new(SizeHint))
	for _, p := range pairs {
		_, _ = append(p.Key, "over the value"...), append(p.Value, "over the next key"...)
	}
	if len(pairs) != n+1 || string(pairs[0].Key) != "front" {
		t.Fatalf("%d pairs, the first %q; want %d", len(pairs), pairs[0].Key, n+1)
	}
	for i, p := range pairs[1:] {
		want := fmt.Sprintf("%0*d", i%9, i)[:i%9]
		if string(p.Key) != fmt.Sprintf("%06d", i) || string(p.Value) != want || p.Value == nil {
			t.Fatalf("pair %d is %q, %q (nil: %t)", i, p.Key, p.Value, p.Value == nil)
		}
	}
}

// TestBuilderKeepsEmptyValues copies the pair with an empty key and an empty value.
func TestBuilderKeepsEmptyValues(t *testing.T) {
	var b Builder
	b.Start(noLimits, new(SizeHint), nil)
	b.AddCopy([]byte{}, []byte{})
	if pairs := b.Finish(new(SizeHint)); pairs[0].Key == nil || pairs[0].Value == nil {
		t.Errorf("the pair is %v: no key, or no value", pairs[0])
	}
}

// TestSecondBatchNeedsMemoryOnce collects two batches that are alike: the second one
// asks for memory for its pairs, and for its copies, and for no more.
func TestSecondBatchNeedsMemoryOnce(t *testing.T) {
	var hint SizeHint
	batch := func() {
		var b Builder
		b.Start(noLimits, &hint, nil)
		for range 100 {
			b.AddCopy([]byte("some key"), []byte("some value of some bytes"))
		}
		b.Finish(&hint)
	}
	batch()
	if got := testing.AllocsPerRun(100, batch); got > 2 {
		t.Errorf("a batch like the one before allocates %v times, want 2", got)
	}
}

func TestSizeHint(t *testing.T) {
	var h SizeHint
	if got := h.Rows(Unlimited); got != 1 {
		t.Errorf("before any batch: %d rows, want 1", got)
	}
	h.update(50, 1000)
	for limit, want := range map[int]int{Unlimited: 50, 100: 50, 7: 7, 0: 1} {
		if got := h.Rows(limit); got != want {
			t.Errorf("with a limit of %d: %d rows, want %d", limit, got, want)
		}
	}
}

// TestHintOfLargeBatch collects a batch of 100,000 pairs, and begins one of three.
func TestHintOfLargeBatch(t *testing.T) {
	var b Builder
	var hint SizeHint
	b.Start(noLimits, &hint, nil)
	for range 100_000 {
		b.Add([]byte("key"), []byte("value"))
	}
	b.Finish(&hint)
	b.Start(noLimits, &hint, nil)
	if room := cap(b.pairs); room > mostHintRows {
		t.Errorf("a batch that may have three pairs has room for %d at first", room)
	}
}

func TestTrim(t *testing.T) {
	large := make([]kv.KeyValue, 3, 100)
	large[0].Key = []byte("key")
	if got := Trim(large); cap(got) > 6 || !cmp.Equal(got, large) {
		t.Errorf("%d pairs with room for %d", len(got), cap(got))
	}
	if got := Trim(make([]kv.KeyValue, 0, 100)); got != nil {
		t.Errorf("no pairs keep %d", cap(got))
	}
	if some := make([]kv.KeyValue, 60, 100); &Trim(some)[0] != &some[0] {
		t.Error("pairs that fill more than half of their memory were copied")
	}
}

// TestLimits counts pairs of ten bytes, of which each counts eight more.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		want   int // pairs until the limits are reached
	}{
		"rows":                          {Limits{Rows: 4, Bytes: Unlimited}, 4},
		"bytes":                         {Limits{Rows: Unlimited, Bytes: 37}, 3},
		"bytes, exactly":                {Limits{Rows: Unlimited, Bytes: 36}, 2},
		"bytes, but rows are missing":   {Limits{Rows: Unlimited, Bytes: 1, Least: 5}, 5},
		"rows before those that must":   {Limits{Rows: 2, Bytes: 1, Least: 5}, 2},
		"bytes after those that must":   {Limits{Rows: Unlimited, Bytes: 100, Least: 2}, 6},
		"no rows":                       {Limits{Rows: 0, Bytes: Unlimited}, 0},
		"no bytes, and none is missing": {Limits{Rows: Unlimited, Bytes: 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := c.limits, 0
			for ; !l.Reached() && n < 100; n++ {
				l.Count(10)
			}
			if n != c.want {
				t.Errorf("reached after %d pairs, want %d", n, c.want)
			}
		})
	}
}

// steps counts steps until the budget ends the read, at most n.
func steps(b *Budget, n int) (taken int, err error) {
	for ; taken < n && err == nil; taken++ {
		err = b.Step()
	}
	return taken, err
}

func TestBudget(t *testing.T) {
	var abandoned, wanted atomic.Bool
	abandoned.Store(true)
	for name, c := range map[string]struct {
		budget Budget
		taken  int
		err    error
	}{
		"no bound":                    {Budget{}, 10_000, nil},
		"wanted":                      {Budget{Abandon: &wanted}, 10_000, nil},
		"abandoned":                   {Budget{Abandon: &abandoned}, StepsBetweenChecks, ErrAbandoned},
		"steps":                       {Budget{Most: 3 * StepsBetweenChecks}, 3 * StepsBetweenChecks, ErrNotAtHand},
		"steps, checked later":        {Budget{Most: 100}, 2 * StepsBetweenChecks, ErrNotAtHand},
		"steps of reads before":       {Budget{Used: 90, Most: 100}, 2*StepsBetweenChecks - 90, ErrNotAtHand},
		"abandoned, and steps are up": {Budget{Most: 1, Abandon: &abandoned}, StepsBetweenChecks, ErrAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.budget
			taken, err := steps(&b, 10_000)
			if taken != c.taken || !errors.Is(err, c.err) {
				t.Errorf("%d steps and %v, want %d and %v", taken, err, c.taken, c.err)
			}
			if err != nil && !errors.Is(func() error { _, err := steps(&b, StepsBetweenChecks); return err }(), c.err) {
				t.Error("the next check lets the read go on")
			}
		})
	}
}
