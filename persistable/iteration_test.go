// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDeleteWhileIteratingAnIndex deletes each record that a query of the same
// transaction yields, with two entries each.
func TestDeleteWhileIteratingAnIndex(t *testing.T) {
	for _, size := range []int{10, 150_000} {
		db := open(t, enginetest.Open(t))
		s := ArticleStoreOf(db)
		for i := range 3 {
			check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Tags: []string{"x", "y"}, Published: day0, Body: make([]byte, size)})))
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			for a, err := range s.In(tx).OrderedByTags().All(ctx) {
				if err != nil {
					return err
				}
				if err := s.In(tx).Delete(ctx, a.ID); err != nil {
					return err
				}
			}
			return nil
		}))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 0 {
			t.Errorf("%d records of %d bytes are left", n, size)
		}
	}
}

// TestDeleteAheadOfAScan deletes all records, of one value and of several, at
// the first that a scan of the same transaction yields.
func TestDeleteAheadOfAScan(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		db := open(t, enginetest.Open(t))
		s := ArticleStoreOf(db)
		var all []*Article
		for i, size := range []int{10, 150_000, 10, 150_000} {
			a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, size)})
			a.ID = fmt.Sprint(i)
			check(t, s.Create(ctx, a))
			all = append(all, a)
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			scan := s.In(tx).Scan()
			if reverse {
				scan = scan.Reverse()
			}
			for _, err := range scan.All(ctx) {
				if err != nil {
					return err
				}
				for _, a := range all {
					if err := s.In(tx).Delete(ctx, a.ID); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
}

// bulkyArticles saves n articles of 300 kB each.
func bulkyArticles(t *testing.T, s *ArticleStore, n int) {
	t.Helper()
	for i := range n {
		check(t, s.Save(ctx, &Article{
			ID: fmt.Sprintf("%02d", i), Section: "s", Slug: fmt.Sprintf("%02d", i), Published: day0, Editor: ptr("ann"), Tags: []string{"x"}, Body: make([]byte, 300_000),
		}))
	}
}

// queriesOfBulky are an index, lanes and an intersection that yield all large articles, by id.
func queriesOfBulky(t *testing.T, s *ArticleStore) map[string]*persistable.Query[*Article] {
	f := ArticleFields
	return map[string]*persistable.Query[*Article]{
		"index":        found[*Article](t)(s.Find(f.Editor.Equal(ptr("ann")))),
		"lanes":        found[*Article](t)(s.Find(f.Editor.In(ptr("ann"), ptr("bob")))),
		"intersection": found[*Article](t)(s.Find(f.Editor.Equal(ptr("ann")), f.Tags.Equal("x"))),
	}
}

// TestLargeRecordsAreFetchedInParts counts the records that a query has read when it yields the
// first one: a few megabytes, not all that the first batch of the index names.
func TestLargeRecordsAreFetchedInParts(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	s := ArticleStoreOf(open(t, counter))
	const n = 60
	bulkyArticles(t, s, n)
	for name, q := range queriesOfBulky(t, s) {
		for _, reverse := range []bool{false, true} {
			var got []string
			begin, first := counter.Counts(), 0
			for a, err := range turned(q, reverse).All(ctx) {
				if check(t, err); len(got) == 0 {
					now := counter.Counts()
					first = now.Gets + now.Ranges - begin.Gets - begin.Ranges
				}
				got = append(got, a.ID)
			}
			if slices.Sort(got); len(slices.Compact(got)) != n {
				t.Errorf("%s, in reverse %t: %d records", name, reverse, len(got))
			}
			if first > n+40 { // the beginning of each, and the other chunks of a few
				t.Errorf("%s, in reverse %t: it has made %d reads of records of 300 kB before the first one", name, reverse, first)
			}
		}
	}
}

// TestWritesAheadOfLargeRecords deletes and changes records at the first one that a query of
// large records yields, in the same transaction, further ahead than it has read.
func TestWritesAheadOfLargeRecords(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArticleStoreOf(db)
	bulkyArticles(t, s, 40)
	for name := range queriesOfBulky(t, s) {
		err := db.Transact(ctx, func(tx persistable.Tx) error {
			bound, want := s.In(tx), 0
			for a, err := range queriesOfBulky(t, bound)[name].All(ctx) {
				if err != nil {
					return err
				}
				if a.ID != fmt.Sprintf("%02d", want) || want >= 20 {
					t.Fatalf("%s: article %s comes as number %d", name, a.ID, want)
				}
				if want++; want > 1 {
					continue
				}
				for i := range 20 {
					id := fmt.Sprint(20 + i)
					if i < 10 {
						err = bound.Delete(ctx, id)
					} else {
						err = bound.Save(ctx, &Article{ID: id, Section: "s", Slug: id, Published: day0, Editor: ptr("zoe")})
					}
					if err != nil {
						return err
					}
				}
			}
			if want != 20 {
				t.Errorf("%s: %d articles come", name, want)
			}
			return errStop
		})
		wantError(t, err, errStop)
	}
}

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
