// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// BenchmarkFirstReadBehindClears reads the first key behind 50,000 that were
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

// clearedBase opens a database to whose base n keys have moved, and then the
// clears of them.
func clearedBase(b *testing.B, n, runKeys int) *Database {
	b.Helper()
	db, err := OpenWith(b.TempDir(), Options{NoSync: true, window: 1, noAbsorb: true, runKeys: runKeys})
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
