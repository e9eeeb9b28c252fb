// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

var errPaid = errors.New("already paid")

func pay(o *Order) error {
	if o.Status == Shipped {
		return errPaid
	}
	o.Status = Shipped
	return nil
}

// TestOwnErrorAfterALostAcknowledgement pays an order and loses the acknowledgement. The next
// attempt finds the order paid and refuses it: the error must not say that nothing was written.
func TestOwnErrorAfterALostAcknowledgement(t *testing.T) {
	for name, verb := range map[string]func(*persistable.DB, *OrderStore) error{
		"Update": func(_ *persistable.DB, s *OrderStore) error { return s.Update(ctx, 1, pay) },
		"Transact": func(db *persistable.DB, s *OrderStore) error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Update(ctx, 1, pay) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			db := open(t, e)
			s := OrderStoreOf(db, "t")
			firstOrder(t, s)
			e.Lose(false, nil)
			if err := verb(db, s); !errors.Is(err, errPaid) || !errors.Is(err, kv.ErrOutcomeUnknown) {
				t.Errorf("after a lost acknowledgement: %v, want %v and an unknown outcome", err, errPaid)
			}
			if err := verb(db, s); !errors.Is(err, errPaid) || kv.IsOutcomeUnknown(err) {
				t.Errorf("without one: %v, want %v and nothing else", err, errPaid)
			}
		})
	}
}

// TestFenceAfterALostAcknowledgement loses an acknowledgement, and the lease before the next
// attempt: the error says both.
func TestFenceAfterALostAcknowledgement(t *testing.T) {
	e := &enginetest.Lossy{Database: enginetest.Open(t)}
	db := open(t, e)
	firstOrder(t, OrderStoreOf(db, "t"))
	g := claim(t, e.Database, "me")
	e.Lose(false, func() error { return g.Release(ctx, e.Database) })
	err := OrderStoreOf(db.Under(g.Fence()), "t").Update(ctx, 1, pay)
	wantError(t, err, leasefdb.ErrLeaseLost)
	wantError(t, err, kv.ErrOutcomeUnknown)
}
