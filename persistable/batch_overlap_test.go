// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestBatchesOfOneTransaction lets goroutines of one transaction create the same orders:
// one of them creates all, the others stop at the first.
func TestBatchesOfOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		var refused atomic.Int64
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			refused.Store(0)
			var next atomic.Int64
			return allAtOnce(6, func() error {
				all := manyOrders(100, 20)
				if next.Add(1)%2 == 0 { // by another id with the same number
					for _, o := range all {
						o.ID += 500
					}
				}
				err := s.In(tx).CreateMany(ctx, all, persistable.BatchOptions{})
				if errors.Is(err, persistable.ErrExists) || errors.As(err, new(*persistable.UniqueError)) {
					if e := wantAs[*persistable.PartialError](t, err); e.Done != 0 {
						t.Errorf("%d of a batch were created", e.Done)
					}
					refused.Add(1)
					return nil
				}
				return err
			})
		}))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 21 || refused.Load() != 5 {
			t.Errorf("%d records, %d batches were refused", n, refused.Load())
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchOfAPanic lets the sequence of a batch panic: the records of the transactions
// before are written, and the store can be used.
func TestBatchOfAPanic(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = persistable.CreateFrom(ctx, &s.Store, func(yield func(*Order, error) bool) {
			for _, o := range manyOrders(100, 25) {
				yield(o, nil)
			}
			panic("made up")
		}, persistable.BatchOptions{Records: 10})
	}()
	if n := must[int](t)(s.Scan().Count(ctx)); n != 20 {
		t.Errorf("%d records, want 20", n)
	}
	check(t, s.SaveMany(ctx, manyOrders(100, 25), persistable.BatchOptions{}))
	sound(t, s.Indexes().Verify)
}
