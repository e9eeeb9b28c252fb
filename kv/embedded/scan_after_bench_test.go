// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// scannedKeys is how many keys BenchmarkScanAfter scans.
const scannedKeys = 20_000

// BenchmarkScanAfter scans 20,000 pairs in a transaction that has done something
// before: nothing, a read, a write, writes all over the range or beside it. It
// reports the medians as multiples of the scan after nothing; rounds of all take
// turns. Scans "by hand" are what own writes in the range cost at the least: the
// scan after nothing, whose batches the caller merges with a slice of the writes
// that it sorts first.
func BenchmarkScanAfter(b *testing.B) {
	for _, form := range []string{"memory", "window", "base"} {
		db := filled(b, form)
		for _, reverse := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/reverse=%v", form, reverse), func(b *testing.B) {
				times := make([][]time.Duration, len(scansAfter))
				for range b.N {
					for i, s := range scansAfter {
						times[i] = append(times[i], s.time(b, db, reverse))
					}
				}
				for i, s := range scansAfter {
					b.ReportMetric(float64(medianOf(times[i]))/float64(medianOf(times[0])), s.name)
				}
				b.ReportMetric(float64(medianOf(times[0])), "ns/op")
			})
		}
		closeTest(b, db)
	}
}

// scanAfter is a scan, and what its transaction has done before.
type scanAfter struct {
	name string
	do   func(b *testing.B, tx kv.Transaction)
	hand int // it has written each of so many keys by hand; 0: not by hand
}

var scansAfter = []scanAfter{
	{"nothing", func(*testing.B, kv.Transaction) {}, 0},
	{"get", func(b *testing.B, tx kv.Transaction) {
		if _, err := tx.Get(benchKey(scannedKeys / 2)).Get(context.Background()); err != nil {
			b.Fatal(err)
		}
	}, 0},
	{"set", func(_ *testing.B, tx kv.Transaction) { tx.Set(benchKey(scannedKeys/2), benchValue) }, 0},
	{"scan", func(b *testing.B, tx kv.Transaction) { scanAll(b, tx, false, nil) }, 0},
	{"beside=200", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 100, scannedKeys) }, 0},
	{"beside=2000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 10, scannedKeys) }, 0},
	{"beside=10000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 2, scannedKeys) }, 0},
	{"writes=200", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 100, 0) }, 0},
	{"hand=200", func(*testing.B, kv.Transaction) {}, 100},
	{"writes=2000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 10, 0) }, 0},
	{"hand=2000", func(*testing.B, kv.Transaction) {}, 10},
	{"writes=10000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 2, 0) }, 0},
	{"hand=10000", func(*testing.B, kv.Transaction) {}, 2},
}

// time returns how long the scan takes.
func (s *scanAfter) time(b *testing.B, db *Database, reverse bool) time.Duration {
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Cancel()
	runtime.GC() // so that what others have left is not collected meanwhile
	s.do(b, tx)
	own := s.writes()
	start := time.Now()
	scanAll(b, tx, reverse, own)
	return time.Since(start)
}

// writes returns the pairs that a scan by hand merges.
func (s *scanAfter) writes() (own []kv.KeyValue) {
	if s.hand == 0 {
		return nil
	}
	for i := 0; i < scannedKeys; i += s.hand {
		own = append(own, kv.KeyValue{Key: benchKey(i), Value: benchValue})
	}
	return own
}

// writeEvery overwrites one in so many of the scanned keys, or of those so many
// behind.
func writeEvery(tx kv.Transaction, step, behind int) {
	for i := 0; i < scannedKeys; i += step {
		tx.Set(benchKey(i+behind), benchValue)
	}
}

// scanAll scans all keys, and merges own writes into the batches if there are any.
func scanAll(b *testing.B, tx kv.Transaction, reverse bool, own []kv.KeyValue) {
	order := func(x, y kv.KeyValue) int { return bytes.Compare(x.Key, y.Key) }
	if reverse {
		order = func(x, y kv.KeyValue) int { return bytes.Compare(y.Key, x.Key) }
	}
	slices.SortFunc(own, order)
	r := kv.KeyRange{Begin: benchKey(0), End: benchKey(scannedKeys)}.Selectors()
	n := 0
	for batch, err := range tx.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse}).Batches(context.Background()) {
		if err != nil {
			b.Fatal(err)
		}
		if own == nil {
			n += len(batch.KVs)
			continue
		}
		var merged []kv.KeyValue
		merged, own = mergePairs(batch.KVs, own, order)
		n += len(merged)
	}
	if n += len(own); n != scannedKeys {
		b.Fatalf("%d pairs, want %d", n, scannedKeys)
	}
}

// mergePairs merges pairs with own ones, up to the last of the pairs, and returns
// what is left of the own ones.
func mergePairs(pairs, own []kv.KeyValue, order func(x, y kv.KeyValue) int) (merged, left []kv.KeyValue) {
	merged = make([]kv.KeyValue, 0, len(pairs))
	for _, p := range pairs {
		for len(own) > 0 && order(own[0], p) < 0 {
			merged, own = append(merged, own[0]), own[1:]
		}
		if len(own) > 0 && order(own[0], p) == 0 {
			p, own = own[0], own[1:]
		}
		merged = append(merged, p)
	}
	return merged, own
}

func medianOf(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
