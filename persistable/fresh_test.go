// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestMoveAheadOfAQuery changes each record that a query of the same transaction
// yields, so that its entry moves ahead of the query: the query yields each
// record once, and ends.
func TestMoveAheadOfAQuery(t *testing.T) {
	const n = 700 // more than some batches
	for name, test := range map[string]struct {
		step  OrderStatus
		query func(*OrderStore) iter.Seq2[*Order, error]
		want  int
	}{
		"forward":   {1, func(s *OrderStore) iter.Seq2[*Order, error] { return s.OrderedByStatus().All(ctx) }, n},
		"backward":  {-1, func(s *OrderStore) iter.Seq2[*Order, error] { return s.OrderedByStatus().Reverse().All(ctx) }, n},
		"limited":   {1, func(s *OrderStore) iter.Seq2[*Order, error] { return s.OrderedByStatus().Limit(n - 1).All(ctx) }, n - 1},
		"unlimited": {1, func(s *OrderStore) iter.Seq2[*Order, error] { return s.OrderedByStatus().Limit(2 * n).All(ctx) }, n},
		"compound":  {1, func(s *OrderStore) iter.Seq2[*Order, error] { return s.OrderedByStatusCreatedAt().All(ctx) }, n},
	} {
		db := open(t, enginetest.Open(t))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error { return createOrders(ctx, OrderStoreOf(db, "t").In(tx), 0, n) }))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			s := OrderStoreOf(db, "t").In(tx)
			seen := map[idgen.ID]bool{}
			for o, err := range test.query(s) {
				if err != nil {
					return err
				}
				if seen[o.ID] {
					t.Fatalf("%s: %d comes again, with the status %d", name, o.ID, o.Status)
				}
				seen[o.ID] = true
				o.Status += test.step
				if err := s.Save(ctx, o); err != nil {
					return err
				}
			}
			if len(seen) != test.want {
				t.Errorf("%s: %d records, want %d", name, len(seen), test.want)
			}
			return nil
		}))
	}
}

// TestCreateAheadOfAScan creates a record, of one value or of several, ahead of a
// scan for each that the scan yields.
func TestCreateAheadOfAScan(t *testing.T) {
	const n = 400 // more than some batches
	for _, size := range []int{10, 150_000} {
		db := open(t, enginetest.Open(t))
		s := ArticleStoreOf(db)
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			for i := range n {
				id := fmt.Sprintf("%03d", i)
				if err := s.In(tx).CreateWithID(ctx, id, &Article{Section: "s", Slug: id, Published: day0}); err != nil {
					return err
				}
			}
			return nil
		}))
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			seen := 0
			for a, err := range s.In(tx).Scan().All(ctx) {
				if err != nil {
					return err
				}
				if seen++; seen > n {
					t.Fatalf("%s comes, which was created since", a.ID)
				}
				if seen > 20 {
					continue
				}
				id := "z" + a.ID
				if err := s.In(tx).CreateWithID(ctx, id, &Article{Section: "s", Slug: id, Published: day0, Body: make([]byte, size)}); err != nil {
					return err
				}
			}
			if n := must[int](t)(s.In(tx).Scan().Count(ctx)); n != seen+20 {
				t.Errorf("a scan that begins later counts %d records, want %d", n, seen+20)
			}
			return nil
		}))
	}
}

// TestLimitAheadOfAQuery lets a limited query meet records that were created
// since it began: they do not count against the limit.
func TestLimitAheadOfAQuery(t *testing.T) {
	const limit = 1500 // which the engine does not read in one batch
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	for from := 0; from < 2*limit; from += limit / 2 {
		check(t, db.Transact(ctx, func(tx persistable.Tx) error { return createOrders(ctx, s.In(tx), 2*from, limit/2) }))
	}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		seen := 0
		for o, err := range s.In(tx).OrderedByStatus().Limit(limit).All(ctx) {
			if err != nil {
				return err
			}
			if o.CreatedAt.Equal(day1) {
				t.Fatalf("%d comes, which was created since", o.ID)
			}
			if seen++; seen == 1 {
				for i := range 500 { // between the first 750 and the others
					fresh := &Order{ID: idgen.ID(1750 + i), TenantID: "t", Number: fmt.Sprint("fresh", i), Status: 100, CreatedAt: day1}
					if err := s.In(tx).Create(ctx, fresh); err != nil {
						return err
					}
				}
			}
		}
		if seen != limit {
			t.Errorf("%d records, want %d", seen, limit)
		}
		return nil
	}))
}

// createOrders creates n orders with the ids from 1000+from on.
func createOrders(ctx context.Context, s *OrderStore, from, n int) error {
	for i := range n {
		id := idgen.ID(1000 + from + i)
		if err := s.Create(ctx, &Order{ID: id, TenantID: "t", Number: fmt.Sprint(id), Status: 100, CreatedAt: day0}); err != nil {
			return err
		}
	}
	return nil
}
