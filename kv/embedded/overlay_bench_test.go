// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

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
