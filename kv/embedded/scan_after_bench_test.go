// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// scannedKeys is how many keys BenchmarkScanAfter scans.
const scannedKeys = 20_000

// BenchmarkScanAfter scans 20,000 pairs in a transaction that has done something
// before: nothing, a read, a write, or writes all over the range. The first is
// what the others are to be compared with.
func BenchmarkScanAfter(b *testing.B) {
	for _, form := range []string{"memory", "window", "base"} {
		db := filled(b, form)
		for _, before := range []struct {
			name string
			do   func(b *testing.B, tx kv.Transaction)
		}{
			{"nothing", func(*testing.B, kv.Transaction) {}},
			{"get", func(b *testing.B, tx kv.Transaction) {
				if _, err := tx.Get(benchKey(scannedKeys / 2)).Get(context.Background()); err != nil {
					b.Fatal(err)
				}
			}},
			{"set", func(_ *testing.B, tx kv.Transaction) { tx.Set(benchKey(scannedKeys/2), benchValue) }},
			{"set-elsewhere", func(_ *testing.B, tx kv.Transaction) { tx.Set(benchKey(2*scannedKeys), benchValue) }},
			{"writes=200", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 100) }},
			{"writes=2000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 10) }},
			{"writes=10000", func(_ *testing.B, tx kv.Transaction) { writeEvery(tx, 2) }},
			{"scan", func(b *testing.B, tx kv.Transaction) { scanAll(b, tx, false) }},
		} {
			for _, reverse := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%s/reverse=%v", form, before.name, reverse), func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						b.StopTimer()
						tx, err := db.Begin()
						if err != nil {
							b.Fatal(err)
						}
						before.do(b, tx)
						b.StartTimer()
						scanAll(b, tx, reverse)
						tx.Cancel()
					}
				})
			}
		}
		closeTest(b, db)
	}
}

// writeEvery overwrites one in so many of the scanned keys.
func writeEvery(tx kv.Transaction, step int) {
	for i := 0; i < scannedKeys; i += step {
		tx.Set(benchKey(i), benchValue)
	}
}

func scanAll(b *testing.B, tx kv.Transaction, reverse bool) {
	r := kv.KeyRange{Begin: benchKey(0), End: benchKey(scannedKeys)}.Selectors()
	n := 0
	for batch, err := range tx.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse}).Batches(context.Background()) {
		if err != nil {
			b.Fatal(err)
		}
		n += len(batch.KVs)
	}
	if n != scannedKeys {
		b.Fatalf("%d pairs, want %d", n, scannedKeys)
	}
}
