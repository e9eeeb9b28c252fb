// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDeleteIfUnchanged deletes records with and without a concurrent change.
func TestDeleteIfUnchanged(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		wantError(t, s.DeleteIfUnchanged(ctx, &Order{ID: 1, TenantID: "t"}), persistable.ErrNotFound)
		firstOrder(t, s)
		was := must[*Order](t)(s.Get(ctx, 1))
		changed := *was
		changed.Amount++
		check(t, s.Save(ctx, &changed))
		wantError(t, s.DeleteIfUnchanged(ctx, was), persistable.ErrChanged)
		check(t, s.DeleteIfUnchanged(ctx, &changed))
		wantError(t, s.DeleteIfUnchanged(ctx, &changed), persistable.ErrNotFound)
		if err := s.DeleteIfUnchanged(ctx, nil); err == nil {
			t.Error("a nil record was deleted")
		}
		if r := sound(t, s.Indexes().Verify); r.Records != 0 || r.Entries != 0 {
			t.Errorf("left: %+v", r)
		}
	})
}

// TestConditionsAfterALostAcknowledgement loses the acknowledgement of conditional
// writes: they recognize their own work, and no other's.
func TestConditionsAfterALostAcknowledgement(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	other := OrderStoreOf(open(t, engine.Database), "t")
	firstOrder(t, s)
	was := must[*Order](t)(s.Get(ctx, 1))
	mine, theirs := *was, *was
	mine.Amount, theirs.Amount = 1, 2

	engine.begin(nil, fates(lost))
	check(t, s.SaveIfUnchanged(ctx, was, &mine))
	engine.begin(nil, fates(lost))
	check(t, s.DeleteIfUnchanged(ctx, &mine))

	check(t, s.CreateWithID(ctx, 1, was))
	engine.begin(nil, func(n int, commit func() error) error {
		if n > 1 {
			return commit()
		}
		err := lost(commit)
		check(t, other.Save(ctx, &theirs))
		return err
	})
	wantError(t, s.SaveIfUnchanged(ctx, was, &mine), persistable.ErrChanged)
	engine.begin(nil, func(n int, commit func() error) error {
		if n > 1 {
			return commit()
		}
		err := lost(commit)
		check(t, other.Create(ctx, &mine))
		return err
	})
	wantError(t, s.DeleteIfUnchanged(ctx, &theirs), persistable.ErrChanged)
	engine.begin(nil, nil)
	if got := must[*Order](t)(s.Get(ctx, 1)); got.Amount != 1 {
		t.Errorf("stored: %+v", got)
	}
	// The condition of a first attempt is not softened.
	wantError(t, s.SaveIfUnchanged(ctx, was, &mine), persistable.ErrChanged)
	sound(t, s.Indexes().Verify)
}

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

// TestAttemptsLookForWhatMayBeThere counts the reads with which an attempt looks for the records
// of earlier ones: each record once, and none of an attempt that conflicted.
func TestAttemptsLookForWhatMayBeThere(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1}))) // and the directory
	same := orders.New(Order{Number: "same", Status: Pending, CreatedAt: day0, Amount: 1})
	var looks []int // reads before each run of the function
	read := func() int {
		engine.mu.Lock()
		defer engine.mu.Unlock()
		return engine.reads
	}
	ended := 0 // reads when the attempt before had ended
	fate := fates(conflict, conflict, dropped, dropped, dropped, conflict, conflict, conflict)
	engine.begin(nil, func(n int, commit func() error) error {
		ended = read()
		return fate(n, commit)
	})
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		looks = append(looks, read()-ended) //persistvet:ignore retryeffect the test looks at each attempt
		//persistvet:ignore freshvalue each attempt creates another record
		fresh := orders.New(Order{Number: "fresh", Status: Pending, CreatedAt: day0, Amount: 1})
		return errors.Join(orders.In(tx).Create(ctx, same), orders.In(tx).Create(ctx, fresh))
	}))
	if want := []int{0, 0, 0, 2, 3, 4, 4, 4, 4}; !slices.Equal(looks, want) {
		t.Errorf("the attempts read %v records before they began, want %v", looks, want)
	}
}
