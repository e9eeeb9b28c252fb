// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

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

// BenchmarkCommit makes durable commits of one random key each, beside synced
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
func filled(b *testing.B, form string) *Database {
	b.Helper()
	var (
		db  *Database
		err error
	)
	if form == "memory" {
		db, err = OpenMemory()
	} else {
		db, err = OpenWith(b.TempDir(), Options{NoSync: true, window: 1, noAbsorb: true})
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
