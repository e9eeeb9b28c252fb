// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestForgottenIn writes a record that the transaction has read outside of it,
// each time: it ends with an error that says so.
func TestForgottenIn(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, orders.CreateWithID(ctx, idgen.ID(1), &Order{TenantID: "t", Number: "1"}))
	for name, write := range map[string]func(*Order) error{
		"Save":   func(o *Order) error { return orders.Save(ctx, o) },
		"Delete": func(o *Order) error { return errors.Join(orders.Delete(ctx, 2), orders.Save(ctx, o)) },
		"Transact": func(o *Order) error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Save(ctx, o) })
		},
	} {
		runs := 0
		err := db.Transact(ctx, func(tx persistable.Tx) error {
			runs++
			o, err := orders.In(tx).Get(ctx, 1)
			if err != nil {
				return err
			}
			o.Amount++
			if err := write(o); err != nil {
				return err
			}
			return orders.In(tx).Save(ctx, o)
		})
		if !errors.Is(err, persistable.ErrOutsideTransaction) || !strings.Contains(err.Error(), "Order") || !strings.Contains(err.Error(), "In(tx)") {
			t.Errorf("%s: %v, want an ErrOutsideTransaction that names the type", name, err)
		}
		if runs > 20 {
			t.Errorf("%s: the function ran %d times", name, runs)
		}
	}
}

// TestConflictsAreNotOutside lets another goroutine write, between read and
// commit, what a transaction reads: that is a conflict like any other, however
// often it happens.
func TestConflictsAreNotOutside(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, orders.CreateWithID(ctx, idgen.ID(1), &Order{TenantID: "t", Number: "1"}))
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		o, err := orders.In(tx).Get(ctx, 1)
		if err != nil {
			return err
		}
		if runs++; runs < 20 {
			done := make(chan error)
			go func() { done <- orders.Save(ctx, &Order{ID: 1, TenantID: "t", Number: "1", Amount: int64(runs)}) }()
			check(t, <-done)
		}
		o.Amount = -1
		return orders.In(tx).Save(ctx, o)
	}))
	if o := must[*Order](t)(orders.Get(ctx, 1)); o.Amount != -1 || runs != 20 {
		t.Errorf("%d after %d runs", o.Amount, runs)
	}
}

// TestSlowTransactionsEnd runs functions that take longer than a transaction
// may last.
func TestSlowTransactionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory() // whose clock is the bubble's
		check(t, err)
		db := open(t, engine)
		orders := OrderStoreOf(db, "t")
		check(t, orders.CreateWithID(ctx, idgen.ID(1), &Order{TenantID: "t", Number: "1"}))
		slow := func(tx persistable.Tx) error {
			if _, err := orders.In(tx).Get(ctx, 1); err != nil {
				return err
			}
			time.Sleep(kv.MaxTransactionAge + time.Second)
			_, err := orders.In(tx).Get(ctx, 2)
			return err
		}
		for name, run := range map[string]func(context.Context, func(persistable.Tx) error) error{
			"Transact": db.Transact, "ReadTransact": db.ReadTransact,
		} {
			var givenUp *kv.RetryError
			if err := run(ctx, slow); !errors.As(err, &givenUp) || !strings.Contains(err.Error(), "1007, transaction_too_old") {
				t.Errorf("%s = %v, want a *kv.RetryError that names 1007", name, err)
			}
		}
		check(t, db.Close())
		check(t, engine.Close())
	})
}

// TestKVOfNoTransaction asks for the transaction beneath where there is none.
func TestKVOfNoTransaction(t *testing.T) {
	if (persistable.Tx{}).KV() != nil {
		t.Error("the zero Tx has a transaction")
	}
	check(t, open(t, enginetest.Open(t)).ReadTransact(ctx, func(tx persistable.Tx) error {
		if tx.KV() != nil {
			t.Error("a transaction that only reads can write")
		}
		return nil
	}))
}
