// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestBatchOfSlowAttempts lets attempts take longer than a transaction may last, until
// the engine gives up: the batch goes on with fewer records.
func TestBatchOfSlowAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &faulty{Database: enginetest.InProcess(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		slow := func(n int) func(int, func() error) error {
			return func(commit int, run func() error) error {
				if commit > n {
					return run()
				}
				time.Sleep(kv.MaxTransactionAge + time.Second)
				return kv.NewError(kv.CodeTransactionTooOld, "made up")
			}
		}
		o, sizes := steps(200)
		engine.begin(nil, slow(3)) // the attempts with 100, 50 and 25 records
		check(t, s.CreateMany(ctx, manyOrders(100, 300), o))
		if got := fmt.Sprint(*sizes); got != "[12 24 48 96 120]" {
			t.Errorf("transactions of %s", got)
		}
		o, sizes = steps(200)
		engine.begin(nil, slow(3))
		if n := must[int](t)(s.DeleteWhere(ctx, s.Scan(), o)); n != 301 {
			t.Errorf("%d records were deleted", n)
		}
		if got := fmt.Sprint(*sizes); got != "[12 24 48 96 121]" {
			t.Errorf("deletions of %s", got)
		}
		engine.begin(nil, slow(1000))
		err := s.CreateMany(ctx, manyOrders(100, 10), o)
		e := wantAs[*persistable.PartialError](t, err)
		if r := wantAs[*kv.RetryError](t, err); e.Done+e.Uncertain != 0 || r.Code != kv.CodeTransactionTooOld {
			t.Errorf("always too slow: %v", err)
		}
		sound(t, s.Indexes().Verify)
	})
}
