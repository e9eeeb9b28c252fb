// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// TestGetHoldsNoLock ends a transaction in every way while a Get of it looks into the
// cache: that does not wait for the Get. A Get that has to read the disk after it
// fails as one that was made later.
func TestGetHoldsNoLock(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Transaction)
		want kv.Code // of a Get that memory does not answer
	}{
		"nothing": {func(*Transaction) {}, 0},
		"Set":     {func(tx *Transaction) { tx.Set([]byte("a"), []byte("own")) }, 0},
		"Reset":   {func(tx *Transaction) { tx.Reset() }, kv.CodeTransactionCancelled},
		"Cancel":  {func(tx *Transaction) { tx.Cancel() }, kv.CodeTransactionCancelled},
		"Commit":  {func(tx *Transaction) { _ = tx.Commit(t.Context()) }, kv.CodeUsedDuringCommit},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cold %t", name, cold), func(t *testing.T) {
				view := newFakeView(map[string]string{"a": "stored"}, cold)
				tx := NewClient(&fakeEngine{view: view}, kv.TransactionOptions{}).Begin()
				view.hook = func() {
					view.hook = nil
					c.end(tx)
				}
				value, err := tx.Get([]byte("a")).Get(t.Context())
				if want := c.want; cold && want != 0 {
					if kv.CodeOf(err) != want {
						t.Errorf("%q, %v, want code %d", value, err, want)
					}
				} else if err != nil || string(value) != "stored" {
					t.Errorf("%q, %v, want the stored value", value, err)
				}
			})
		}
	}
}

// TestConcurrentUse lets goroutines use one transaction at a time: nothing blocks, and
// each read finds a value that was there.
func TestConcurrentUse(t *testing.T) {
	for _, cold := range []bool{false, true} {
		tx := NewClient(&fakeEngine{view: newFakeView(map[string]string{"a": "stored", "b": "stored"}, cold)}, kv.TransactionOptions{}).Begin()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 200 {
					tx.Set([]byte("a"), []byte("own"))
					value, err := tx.Get([]byte("b")).Get(t.Context())
					if err != nil || string(value) != "stored" {
						t.Errorf("Get: %q, %v", value, err)
					}
					pairs, err := tx.GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("c")}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
					if err != nil || len(pairs) != 2 || string(pairs[0].Value) != "own" {
						t.Errorf("GetRange: %q, %v", pairs, err)
					}
				}
			})
		}
		wg.Wait()
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestCommitStopsTimeout commits with a timeout of a minute: once the outcome is known, no
// timer keeps the transaction in memory.
func TestCommitStopsTimeout(t *testing.T) {
	for name, write := range map[string]func(*Transaction){
		"a commit":               func(tx *Transaction) { tx.Set([]byte("key"), nil) },
		"one that only reads":    func(tx *Transaction) { tx.Get([]byte("key")) },
		"one that is refused":    func(tx *Transaction) { tx.Set([]byte("key"), nil); _ = tx.SetOption(kv.OptionReadLockAware, 0) },
		"one that waits for one": func(tx *Transaction) { tx.Set([]byte("key"), nil); tx.Get([]byte("cold")) },
	} {
		tx := NewClient(&fakeEngine{view: newFakeView(nil, true)}, kv.TransactionOptions{Timeout: time.Minute}).Begin()
		timer := tx.deadline.timer
		write(tx)
		_ = tx.Commit(t.Context())
		if timer.Stop() {
			t.Errorf("%s: the timer still runs", name)
		}
	}
}

// TestGetMany compares AppendGets, after another future, with a Get of each key, in twin transactions with the
// same writes: values, errors, conflict ranges and sizes are the same. The reads begin together: they load what
// memory has before they look at the first.
func TestGetMany(t *testing.T) {
	random := seed.Rand(t)
	contents := map[string]string{}
	for i := range 60 {
		contents[fmt.Sprintf("k%03d", 2*i)] = fmt.Sprint(i)
	}
	together := map[bool]bool{} // by snapshot
	for range 300 {
		cold, snapshot := random.IntN(2) == 0, random.IntN(2) == 0
		view := newFakeView(contents, cold)
		client := NewClient(&fakeEngine{view: view}, kv.TransactionOptions{})
		one, many := client.Begin(), client.Begin()
		writeAlike(random, one, many)
		keys := drawKeys(random)
		var want []kv.Future[[]byte]
		for _, key := range keys {
			want = append(want, readerOf(one, snapshot).Get(key))
		}
		got := kv.AppendGets([]kv.Future[[]byte]{kv.Resolved([]byte("before"), nil)}, readerOf(many, snapshot), keys)
		together[snapshot] = together[snapshot] || view.prefetches > 0
		if before, err := got[0].Get(t.Context()); string(before) != "before" || err != nil {
			t.Fatalf("the future before is %q, %v", before, err)
		}
		got = got[1:]
		if diff := cmp.Diff(answers(t, want), answers(t, got)); diff != "" {
			t.Fatalf("cold %t, snapshot %t, keys %q: Get of each and GetMany (-each +many):\n%s", cold, snapshot, keys, diff)
		}
		if diff := cmp.Diff(traces(t, one), traces(t, many)); diff != "" {
			t.Fatalf("cold %t, snapshot %t, keys %q: what a Get of each and GetMany leave (-each +many):\n%s", cold, snapshot, keys, diff)
		}
	}
	if !together[false] || !together[true] {
		t.Errorf("kv.AppendGets reads together, by snapshot: %v; want both", together)
	}
}

func readerOf(t *Transaction, snapshot bool) kv.ReadTransaction {
	if snapshot {
		return t.Snapshot()
	}
	return t
}

// writeAlike makes the same writes in two transactions.
func writeAlike(random *rand.Rand, all ...*Transaction) {
	for range random.IntN(20) {
		key, value, op := fmt.Appendf(nil, "k%03d", random.IntN(120)), fmt.Append(nil, random.IntN(9)), random.IntN(4)
		for _, t := range all {
			switch op {
			case 0:
				t.Set(key, value)
			case 1:
				t.Clear(key)
			case 2:
				t.ClearRange(kv.KeyRange{Begin: key, End: append(slices.Clone(key), '9')})
			default:
				t.Atomic(kv.AppendIfFits, key, value)
			}
		}
	}
}

// drawKeys draws up to three times as many keys as are read at once, illegal and
// repeated ones among them.
func drawKeys(random *rand.Rand) (keys [][]byte) {
	for range random.IntN(3*manyAtOnce + 1) {
		switch random.IntN(30) {
		case 0:
			keys = append(keys, []byte("\xffk"))
		case 1:
			keys = append(keys, make([]byte, kv.MaxKeySize+1))
		case 2:
			keys = append(keys, []byte(kv.MetadataVersionKey))
		default:
			keys = append(keys, fmt.Appendf(nil, "k%03d", random.IntN(120)))
		}
	}
	return keys
}

// answers returns the results of futures as text.
func answers(t *testing.T, futures []kv.Future[[]byte]) (all []string) {
	for _, f := range futures {
		value, err := f.Get(t.Context())
		all = append(all, fmt.Sprintf("%t %q %d", value == nil, value, kv.CodeOf(err)))
	}
	return all
}

// traces returns what reads leave in a transaction: conflict ranges, size, and
// whether it can still commit.
func traces(t *testing.T, tx *Transaction) (all []string) {
	reads, writes, err := tx.ConflictRanges(t.Context())
	size, sizeErr := tx.GetApproximateSize().Get(t.Context())
	return append(all, fmt.Sprintf("%q", reads), fmt.Sprintf("%q", writes), fmt.Sprint(err, size, sizeErr), fmt.Sprint(kv.CodeOf(tx.Commit(t.Context()))))
}

// TestGetManyHoldsNoLock ends a transaction while a GetMany of it looks into the cache:
// as TestGetHoldsNoLock does.
func TestGetManyHoldsNoLock(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Transaction)
		want kv.Code // of reads that memory does not answer
	}{
		"nothing": {func(*Transaction) {}, 0},
		"Reset":   {func(tx *Transaction) { tx.Reset() }, kv.CodeTransactionCancelled},
		"Cancel":  {func(tx *Transaction) { tx.Cancel() }, kv.CodeTransactionCancelled},
		"Commit":  {func(tx *Transaction) { _ = tx.Commit(t.Context()) }, kv.CodeUsedDuringCommit},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cold %t", name, cold), func(t *testing.T) {
				view := newFakeView(map[string]string{"a": "stored", "b": "stored"}, cold)
				tx := NewClient(&fakeEngine{view: view}, kv.TransactionOptions{}).Begin()
				view.hook = func() {
					view.hook = nil
					c.end(tx)
				}
				for _, f := range tx.AppendGets(nil, [][]byte{[]byte("a"), []byte("b")}) {
					value, err := f.Get(t.Context())
					if want := c.want; cold && want != 0 {
						if kv.CodeOf(err) != want {
							t.Errorf("%q, %v, want code %d", value, err, want)
						}
					} else if err != nil || string(value) != "stored" {
						t.Errorf("%q, %v, want the stored value", value, err)
					}
				}
			})
		}
	}
}

// TestBackoff draws each wait of OnError many times: it is a random part of a delay that
// doubles up to the cap.
func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cap   time.Duration
		waits []time.Duration // the longest possible, in turn
	}{
		{"doubling", time.Second, []time.Duration{
			firstDelay, 2 * firstDelay, 4 * firstDelay, 8 * firstDelay, 16 * firstDelay, 32 * firstDelay,
		}},
		{"up to the cap", 7 * firstDelay, []time.Duration{firstDelay, 2 * firstDelay, 4 * firstDelay, 7 * firstDelay, 7 * firstDelay}},
		{"first beyond the cap", 7, []time.Duration{7, 7}},
	} {
		longest := make([]time.Duration, len(tt.waits))
		for range 2000 {
			b := backoff{cap: tt.cap}
			for i, limit := range tt.waits {
				wait := b.next()
				if wait < 0 || wait > limit {
					t.Fatalf("%s: wait %d is %v, want at most %v", tt.name, i, wait, limit)
				}
				longest[i] = max(longest[i], wait)
			}
		}
		for i, limit := range tt.waits {
			if longest[i] < limit*8/10-1 {
				t.Errorf("%s: the longest of 2000 waits %d is %v, far from %v: the delay does not double", tt.name, i, longest[i], limit)
			}
		}
	}
}
