// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestLaw1CreatedTwoDeletedOne loses the acknowledgement of a transaction that
// deletes the first of two records it has created.
func TestLaw1CreatedTwoDeletedOne(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))
	a, b := orders.New(Order{Number: "A", Status: Pending, CreatedAt: day0, Amount: 1}), orders.New(Order{Number: "B", Status: Pending, CreatedAt: day0, Amount: 1})
	engine.begin(nil, fates(lost))
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		s := orders.In(tx)
		if err := s.Create(ctx, a); err != nil {
			return err
		}
		if err := s.Create(ctx, b); err != nil {
			return err
		}
		return s.Delete(ctx, a.ID)
	}))
}

// TestLaw1OthersDeleteOneOfTheCreated loses the acknowledgement of a
// transaction that creates two records, one of which another client deletes
// before the retry.
func TestLaw1OthersDeleteOneOfTheCreated(t *testing.T) {
	for _, deleted := range []string{"A", "B"} {
		mem := enginetest.Open(t)
		engine := &faulty{Database: mem}
		db := open(t, engine)
		other := OrderStoreOf(open(t, mem), "t")
		orders := OrderStoreOf(db, "t")
		check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))
		a, b := orders.New(Order{Number: "A", Status: Pending, CreatedAt: day0, Amount: 1}), orders.New(Order{Number: "B", Status: Pending, CreatedAt: day0, Amount: 1})
		engine.begin(nil, func(n int, commit func() error) error {
			if n > 1 {
				return commit()
			}
			err := lost(commit)
			gone := must[*Order](t)(other.ByNumber(ctx, deleted))
			check(t, other.Delete(ctx, gone.ID))
			return err
		})
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			if err := orders.In(tx).Create(ctx, a); err != nil {
				return err
			}
			return orders.In(tx).Create(ctx, b)
		}))
		if n := must[int](t)(other.OrderedByNumber().Count(ctx)); n != 2 {
			t.Errorf("with %s deleted there are %d orders, want 2", deleted, n)
		}
	}
}
