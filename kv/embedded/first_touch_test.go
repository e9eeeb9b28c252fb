// SPDX-License-Identifier: Apache-2.0

//go:build unix

package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv"
)

// TestFirstTouchAllocates counts the allocations of the first read of a settled key. In
// the caller they are the transaction, its snapshot, the read, the value, and what Pebble
// needs.
func TestFirstTouchAllocates(t *testing.T) {
	db := filled(t, "base")
	defer closeTest(t, db)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	ks, next := make([][]byte, benchKeys), 0
	for i := range ks {
		ks[i] = benchKey(i)
	}
	for what, c := range map[string]struct {
		ctx  context.Context
		most float64
	}{"in the caller": {context.Background(), 6}, "in a goroutine": {t.Context(), 12}} {
		got := testing.AllocsPerRun(2000, func() {
			next += 7
			if err := getSnapshot(c.ctx, db, ks[next]); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", what, got, c.most)
		}
	}
}

func getSnapshot(ctx context.Context, db *Database, key []byte) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		_, err := tx.Snapshot().Get(key).Get(ctx)
		return err
	})
}

// BenchmarkFirstTouch reads settled keys in no order, each once: run it with at most
// -benchtime 100000x. pebble is the same data in Pebble alone, cancel a caller with a
// context that can end. cpu-ns/op is the processor time of the process.
func BenchmarkFirstTouch(b *testing.B) {
	alone := filledPebble(b)
	defer alone.Close()
	ending, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprintf("pebble-%d", goroutines), func(b *testing.B) {
			touch(b, goroutines, func(key []byte) error {
				value, closer, err := alone.Get(key)
				if err != nil {
					return err
				}
				_ = append([]byte(nil), value...)
				return closer.Close()
			})
		})
		for name, ctx := range map[string]context.Context{"engine": context.Background(), "cancel": ending} {
			b.Run(fmt.Sprintf("%s-%d", name, goroutines), func(b *testing.B) {
				db := filled(b, "base")
				defer closeTest(b, db)
				touch(b, goroutines, func(key []byte) error { return getSnapshot(ctx, db, key) })
			})
		}
	}
}

// touch calls get with benchKeys in no order, b.N times.
func touch(b *testing.B, goroutines int, get func(key []byte) error) {
	keys := make([][]byte, benchKeys)
	for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(benchKeys) {
		keys[i] = benchKey(at)
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := get(keys[i%benchKeys]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// filledPebble returns a Pebble store with the keys of benchKey, flushed.
func filledPebble(b *testing.B) *pebble.DB {
	cache := pebble.NewCache(32 << 20)
	defer cache.Unref()
	db, err := pebble.Open(b.TempDir(), &pebble.Options{Cache: cache, Logger: noLogger{}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range benchKeys {
		if err := db.Set(benchKey(i), benchValue, pebble.NoSync); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Flush(); err != nil {
		b.Fatal(err)
	}
	return db
}

// processorTime returns the nanoseconds of processor time that the process has used.
func processorTime(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
