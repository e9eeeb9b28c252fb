// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv"
)

const benchKeys = 100_000

func benchKey(i int) []byte { return fmt.Appendf(nil, "a key of 24 bytes %06d", i) }

var benchValue = make([]byte, 200)

// spread runs op b.N times, in so many goroutines.
func spread(b *testing.B, goroutines int, op func(random *rand.Rand) error) {
	var (
		left atomic.Int64
		wg   sync.WaitGroup
	)
	left.Store(int64(b.N))
	b.ResetTimer()
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for left.Add(-1) >= 0 {
				if err := op(random); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkCommit makes durable commits of one random key each, next to synced
// batches of Pebble alone.
func BenchmarkCommit(b *testing.B) {
	for _, goroutines := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("engine-%d", goroutines), func(b *testing.B) {
			db, err := Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer closeTest(b, db)
			spread(b, goroutines, func(random *rand.Rand) error {
				return db.Transact(context.Background(), func(tx kv.Transaction) error {
					tx.Set(benchKey(random.IntN(benchKeys)), benchValue)
					return nil
				})
			})
		})
		b.Run(fmt.Sprintf("pebble-%d", goroutines), func(b *testing.B) {
			db, err := pebble.Open(b.TempDir(), &pebble.Options{MemTableSize: 64 << 20, Logger: noLogger{}})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			spread(b, goroutines, func(random *rand.Rand) error {
				return db.Set(benchKey(random.IntN(benchKeys)), benchValue, pebble.Sync)
			})
		})
	}
}

// filled returns databases that hold all keys: in memory, in the window of a
// durable one, and in its base.
func filled(b testing.TB, form string) *Database {
	b.Helper()
	var (
		db  *Database
		err error
	)
	if form == "memory" {
		db, err = OpenMemory()
	} else {
		db, err = Open(b.TempDir(), Options{NoSync: true, Memory: 256 << 20, memTable: mostMemTable, window: 1, noAbsorb: true})
	}
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < benchKeys; i += 1000 {
		transact(b, db, func(tx kv.Transaction) {
			for j := range 1000 {
				tx.Set(benchKey(i+j), benchValue)
			}
		})
	}
	if form == "base" {
		transact(b, db, func(tx kv.Transaction) { tx.Set([]byte("z"), nil) })
		if err := db.disk.absorber.Pass(); err != nil {
			b.Fatal(err)
		}
		if _, err := db.disk.base.Flush(nil); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

// BenchmarkGet reads random keys.
func BenchmarkGet(b *testing.B) {
	for _, form := range []string{"memory", "window", "base"} {
		db := filled(b, form)
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s-%d", form, goroutines), func(b *testing.B) {
				spread(b, goroutines, func(random *rand.Rand) error {
					return db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
						_, err := tx.Snapshot().Get(benchKey(random.IntN(benchKeys))).Get(context.Background())
						return err
					})
				})
			})
		}
		closeTest(b, db)
	}
}

// BenchmarkScan reads 100 keys from a random one on.
func BenchmarkScan(b *testing.B) {
	for _, form := range []string{"memory", "window", "base"} {
		db := filled(b, form)
		for _, reverse := range []bool{false, true} {
			for _, goroutines := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s-reverse=%v-%d", form, reverse, goroutines), func(b *testing.B) {
					spread(b, goroutines, func(random *rand.Rand) error { return scanOnce(db, random.IntN(benchKeys-100), reverse) })
				})
			}
		}
		closeTest(b, db)
	}
}

func scanOnce(db *Database, begin int, reverse bool) error {
	return db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
		_, err := tx.Snapshot().GetRange(kv.SelectorRange{
			Begin: kv.FirstGreaterOrEqual(benchKey(begin)), End: kv.FirstGreaterOrEqual(benchKey(begin + 100)),
		}, kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse}).Slice(context.Background())
		return err
	})
}

// noLogger is a logger of Pebble that drops everything.
type noLogger struct{}

func (noLogger) Infof(string, ...any)  {}
func (noLogger) Errorf(string, ...any) {}
func (noLogger) Fatalf(string, ...any) {}

// scannedKeys is how many keys BenchmarkScanAfter scans.
const scannedKeys = 20_000

// BenchmarkScanAfter scans 20,000 pairs in a transaction that has done something
// before: nothing, a read, a write, writes all over the range or outside it. It
// reports the medians as multiples of the scan after nothing; rounds of all take
// turns. Scans "by hand" are what own writes in the range cost at the least: the
// scan after nothing; the caller merges its batches with a slice of the writes
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
	{"outside=200", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 100, scannedKeys) }, 0},
	{"outside=2000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 10, scannedKeys) }, 0},
	{"outside=10000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 2, scannedKeys) }, 0},
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
	runtime.GC() // so that no collection of what others have left falls into the measurement
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
// after them.
func writeEvery(tx kv.Transaction, step, offset int) {
	for i := 0; i < scannedKeys; i += step {
		tx.Set(benchKey(i+offset), benchValue)
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

// BenchmarkScanOverWrites reads 100 pairs over own writes: one in the range, or
// half of what is in it.
func BenchmarkScanOverWrites(b *testing.B) {
	db, err := OpenMemory()
	if err != nil {
		b.Fatal(err)
	}
	defer closeTest(b, db)
	transact(b, db, func(tx kv.Transaction) {
		for i := range 1000 {
			tx.Set(benchKey(i), benchValue)
		}
	})
	r := kv.KeyRange{Begin: benchKey(100), End: benchKey(200)}.Selectors()
	for _, writes := range []int{1, 50} {
		for _, again := range []bool{false, true} {
			b.Run(fmt.Sprintf("writes=%d/again=%v", writes, again), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					tx, err := db.Begin()
					if err != nil {
						b.Fatal(err)
					}
					for i := range writes {
						tx.Set(benchKey(100+2*i), benchValue)
					}
					for range map[bool]int{false: 1, true: 5}[again] {
						kvs, err := tx.Snapshot().GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(context.Background())
						if err != nil || len(kvs) != 100 {
							b.Fatal(len(kvs), err)
						}
					}
					tx.Cancel()
				}
			})
		}
	}
}

// BenchmarkFirstReadBehindClears reads the first key after 50,000 that were
// cleared one by one and have moved to the base, with range tombstones for runs of
// them and without. Only the first such read needs them: it tells of the empty
// range, and later reads leap over that.
func BenchmarkFirstReadBehindClears(b *testing.B) {
	for name, keys := range map[string]int{"runs": 16, "single": math.MaxInt} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				db := clearedBase(b, 50_000, keys)
				b.StartTimer()
				pairs, err := kv.ReadTransact(context.Background(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
					r := kv.KeyRange{Begin: laneKey(0), End: []byte("zz")}.Selectors()
					return tx.GetRange(r, kv.RangeOptions{Limit: 1}).Slice(context.Background())
				})
				b.StopTimer()
				if err != nil || len(pairs) != 1 {
					b.Fatal(len(pairs), err)
				}
				closeTest(b, db)
			}
		})
	}
}

// clearedBase opens a database with a base to which n keys have moved, and then the
// clears of them.
func clearedBase(b *testing.B, n, runKeys int) *Database {
	b.Helper()
	db, err := Open(b.TempDir(), Options{NoSync: true, window: 1, noAbsorb: true, runKeys: runKeys})
	if err != nil {
		b.Fatal(err)
	}
	for _, write := range []func(tx kv.Transaction, key []byte){
		func(tx kv.Transaction, key []byte) { tx.Set(key, benchValue[:20]) },
		func(tx kv.Transaction, key []byte) { tx.Clear(key) },
	} {
		for i := 0; i < n; i += 5000 {
			transact(b, db, func(tx kv.Transaction) {
				for j := range 5000 {
					write(tx, laneKey(i+j))
				}
			})
		}
		transact(b, db, func(tx kv.Transaction) { tx.Set([]byte("z"), fmt.Append(nil, n)) })
		if err := db.disk.absorber.Pass(); err != nil {
			b.Fatal(err)
		}
		if _, err := db.disk.base.Flush(nil); err != nil {
			b.Fatal(err)
		}
	}
	return db
}
