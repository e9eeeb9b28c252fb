// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

const (
	goroutines = 64
	sequences  = 3
	each       = 4
)

// testGoroutines reserves from many goroutines through several stores: each number comes
// exactly once.
func testGoroutines(f *fixture) {
	stores := []store.Store{f.openStore(), f.openRaw(), f.openRaw()}
	var ledgers [sequences]Ledger
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range each {
				n := (g + i) % sequences
				got, err := stores[g%len(stores)].Reserve(f.Context(), fmt.Sprint("s", n), up(100, 1, int64(1+g)))
				if err != nil {
					f.Error(err)
					return
				}
				ledgers[n].Add(got)
			}
		})
	}
	group.Wait()
	total := 0
	for n := range ledgers {
		total += ledgers[n].Len()
		if err := ledgers[n].Check(f.LosesAnswers); err != nil {
			f.Error(err)
		}
	}
	if total != goroutines*each {
		f.Errorf("%d ranges were reserved, want %d", total, goroutines*each)
	}
}
