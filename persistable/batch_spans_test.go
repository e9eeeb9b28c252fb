// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// evenOrders returns orders with the ids and numbers from, from+2, …
func evenOrders(from, n int) []*Order {
	all := make([]*Order, n)
	for i := range all {
		all[i] = orderOf(from+2*i, from+2*i)
	}
	return all
}

func orderOf(id, number int) *Order {
	return &Order{ID: idgen.ID(id), TenantID: "t", Number: fmt.Sprintf("%06d", number), CreatedAt: day0}
}

// TestSpansConflictAsGets lets another transaction create an order before a batch that has read a
// range commits: the batch conflicts if the order has an id or a number of its own, and not if it
// only lies between them.
func TestSpansConflictAsGets(t *testing.T) {
	isUnique := func(err error) bool { return errors.As(err, new(*persistable.UniqueError)) }
	exists := func(err error) bool { return errors.Is(err, persistable.ErrExists) }
	all := evenOrders(1000, 150)
	const at = 120 // in the second transaction
	for name, c := range map[string]struct {
		other   *Order
		commits int
		is      func(err error) bool
	}{
		"between":   {orderOf(int(all[at].ID)+1, int(all[at].ID)+1), 2, func(err error) bool { return err == nil }},
		"an id":     {orderOf(int(all[at].ID), 1), 3, exists},
		"a number":  {orderOf(1, int(all[at].ID)), 3, isUnique},
		"the first": {orderOf(int(all[100].ID), 1), 3, exists},
		"the last":  {orderOf(1, int(all[149].ID)), 3, isUnique},
	} {
		engine := &faulty{Database: enginetest.Open(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		check(t, s.Delete(ctx, 1))
		other := OrderStoreOf(open(t, engine.Database), "t")
		commits := 0
		engine.begin(nil, func(n int, commit func() error) error {
			if commits = n; n == 2 {
				check(t, other.Create(ctx, c.other))
			}
			return commit()
		})
		err := s.CreateMany(ctx, all, persistable.BatchOptions{})
		engine.begin(nil, nil)
		if commits != c.commits || !c.is(err) {
			t.Errorf("%s: %d commits, %v", name, commits, err)
		}
		if e := new(persistable.PartialError); errors.As(err, &e) && all[e.Done].ID != c.other.ID && all[e.Done].Number != c.other.Number {
			t.Errorf("%s: stopped after %d", name, e.Done)
		}
		sound(t, s.Indexes().Verify)
	}
}

// TestSpansWithOthersBetween creates records between which others lie: few are read with the
// range, and many make the batch, and those after it, read by gets.
func TestSpansWithOthersBetween(t *testing.T) {
	unscattered(t)
	for _, c := range []struct {
		others, rounds, gets, ranges int
	}{
		{0, 3, 200, 4},
		{8, 3, 200, 4},
		{9, 4, 1400, 2},
		{100, 4, 1400, 2},
	} {
		counter := faults.NewCounter(enginetest.Open(t))
		s := OrderStoreOf(open(t, counter), "t")
		firstOrder(t, s)
		must[*Order](t)(s.Get(ctx, 1)) // opens the store
		check(t, s.SaveMany(ctx, evenOrders(1000+2*100+1, c.others), persistable.BatchOptions{}))
		all := evenOrders(1000, 700)
		cost, err := counter.Measure(func() error { return s.CreateMany(ctx, all, persistable.BatchOptions{}) })
		if err != nil || cost.Rounds != c.rounds || cost.Gets != c.gets || cost.Ranges != c.ranges {
			t.Errorf("%d others: %v, %v", c.others, cost, err)
		}
		sound(t, s.Indexes().Verify)
	}
}

// TestSpansFindWhatIsThere creates records of which one is there, with others between them.
func TestSpansFindWhatIsThere(t *testing.T) {
	const at = 180
	for _, others := range []int{0, 7, 30} {
		for name, is := range map[string]*Order{"id": orderOf(1000+2*at, 1), "number": orderOf(1, 1000+2*at)} {
			s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
			check(t, s.SaveMany(ctx, evenOrders(1000+2*100+1, others), persistable.BatchOptions{}))
			check(t, s.Create(ctx, is))
			err := s.CreateMany(ctx, evenOrders(1000, 700), persistable.BatchOptions{})
			if e := wantAs[*persistable.PartialError](t, err); e.Done != at {
				t.Errorf("%s, %d others: %v", name, others, err)
			}
		}
	}
}

// TestSpansNeedOrder creates records with ids in no order: only their numbers are read with a range.
func TestSpansNeedOrder(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := OrderStoreOf(open(t, counter), "t")
	firstOrder(t, s)
	must[*Order](t)(s.Get(ctx, 1)) // opens the store
	all := evenOrders(1000, 300)
	slices.Reverse(all)
	for i, o := range all {
		o.Number = fmt.Sprintf("%06d", 1000+i)
	}
	cost, err := counter.Measure(func() error { return s.CreateMany(ctx, all, persistable.BatchOptions{}) })
	if err != nil || cost.Rounds != 2 || cost.Gets != 400 || cost.Ranges != 1 {
		t.Errorf("%v, %v", cost, err)
	}
	sound(t, s.Indexes().Verify)
}
