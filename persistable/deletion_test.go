// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDeleteWhereCountsItsOwn loses the acknowledgement of ten deletions. The next
// attempt conflicts with another program, which deletes one of its records: that one
// does not count.
func TestDeleteWhereCountsItsOwn(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	other := OrderStoreOf(open(t, engine.Database), "t")
	check(t, s.CreateMany(ctx, manyOrders(100, 25), persistable.BatchOptions{}))
	engine.begin(nil, func(n int, commit func() error) error {
		switch n {
		case 1:
			return lost(commit)
		case 2:
			check(t, other.Delete(ctx, 110))
		}
		return commit()
	})
	n, err := s.DeleteWhere(ctx, s.OrderedByNumber().Query(), persistable.BatchOptions{Records: 10})
	if err != nil || n != 24 {
		t.Errorf("%d records were deleted, %v, want 24", n, err)
	}
}

// TestDeleteWhereInATransactionMissesNone creates a fitting record during a transaction
// that deletes all: they conflict.
func TestDeleteWhereInATransactionMissesNone(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	check(t, s.CreateMany(ctx, manyOrders(100, 3), persistable.BatchOptions{}))
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		n, err := s.In(tx).DeleteWhere(ctx, s.ByStatus(Pending), persistable.BatchOptions{})
		if runs++; runs == 1 {
			check(t, s.Create(persistable.OwnTransaction(ctx), manyOrders(200, 1)[0]))
		} else if n != 4 {
			t.Errorf("%d records were deleted, want 4", n)
		}
		return err
	}))
	if n := must[int](t)(s.Scan().Count(ctx)); n != 0 || runs != 2 {
		t.Errorf("%d records are left after %d runs", n, runs)
	}
}

// TestDeleteWhereOfEntries deletes by an index of which a record has several entries:
// each record counts once.
func TestDeleteWhereOfEntries(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		for _, a := range articles(t, s, 12) {
			a.Tags = []string{"a", "b", "c"}
			check(t, s.Save(ctx, a))
		}
		if n := must[int](t)(s.DeleteWhere(ctx, s.OrderedByTags().Query(), persistable.BatchOptions{Records: 5})); n != 12 {
			t.Errorf("%d records were deleted, want 12", n)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestDeleteWhereBesideLostDeletions loses the acknowledgement of deletions; the next
// attempt is too large. What was deleted is not known then: another transaction would
// delete more records than the query's limit.
func TestDeleteWhereBesideLostDeletions(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	check(t, s.CreateMany(ctx, manyOrders(100, 25), persistable.BatchOptions{}))
	tooLarge := func(func() error) error { return kv.NewError(kv.CodeTransactionTooLarge, "made up") }
	engine.begin(nil, fates(lost, tooLarge))
	_, err := s.DeleteWhere(ctx, s.OrderedByNumber().Query().Limit(12), persistable.BatchOptions{Records: 10})
	engine.begin(nil, nil)
	if e := wantAs[*persistable.PartialError](t, err); e.Done != 0 || e.Uncertain < 10 || kv.CodeOf(err) != kv.CodeTransactionTooLarge {
		t.Errorf("%v", err)
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 15 {
		t.Errorf("%d records are left, want 15", n)
	}
}

// TestLimitsBelowOne: what is left of a number that a program counts down may be 0. It does
// not delete everything, nor read it.
func TestLimitsBelowOne(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, players, notes := OrderStoreOf(db, "t"), PlayerStoreOf(db), NoteStoreOf(db)
	someOrders(t, s, 3)
	check(t, players.Save(ctx, &Player{ID: 1, Game: "go"}))
	check(t, notes.Save(ctx, &Note{ID: 1}))
	for _, n := range []int{0, -1} {
		q := s.Scan().Limit(n)
		_, deleted := s.DeleteWhere(ctx, q, persistable.BatchOptions{})
		_, slice := q.Slice(ctx)
		_, first := q.First(ctx)
		_, count := q.Count(ctx)
		_, page := q.Page(ctx, "")
		_, explain := q.Explain(ctx)
		_, ranges := s.OrderedByNumber().Limit(n).Slice(ctx)
		_, rows := SaleStoreOf(db).OrderedByCodeRows().Limit(n).Slice(ctx)
		_, filtered := s.Scan().FilterLimit(n).Slice(ctx)
		_, top := players.TopByScore(ctx, n)
		_, consumed := notes.Feed().Consumer("c").Limit(n).Next(ctx, ignoreNotes)
		var all error
		for _, err := range q.All(ctx) {
			all = err
		}
		for name, err := range map[string]error{
			"DeleteWhere": deleted, "Slice": slice, "First": first, "Count": count, "Page": page, "All": all, "Explain": explain,
			"a range": ranges, "rows": rows, "FilterLimit": filtered, "Top": top, "a consumer": consumed,
		} {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("imit(%d): the least is 1", n)) {
				t.Errorf("%s with a limit of %d: %v", name, n, err)
			}
		}
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 3 {
		t.Errorf("%d records are left of 3", n)
	}
}

// TestNoLimit: NoLimit takes a limit off; a page then has the size that the options say.
func TestNoLimit(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{PageSize: 3})
	s, players := OrderStoreOf(db, "t"), PlayerStoreOf(db)
	someOrders(t, s, 5)
	for i := range 3 {
		check(t, players.Save(ctx, &Player{ID: int64(i + 1), Game: "go"}))
	}
	q := s.Scan().Limit(2).Limit(persistable.NoLimit)
	counts := map[string]int{
		"Slice": len(must[[]*Order](t)(q.Slice(ctx))), "Count": must[int](t)(q.Count(ctx)),
		"a range":     len(must[[]*Order](t)(s.OrderedByNumber().Limit(2).Limit(persistable.NoLimit).Slice(ctx))),
		"FilterLimit": len(must[[]*Order](t)(found[*Order](t)(s.AllowScan().Find(OrderFields.Amount.From(0))).FilterLimit(1).FilterLimit(persistable.NoLimit).Slice(ctx))),
	}
	for name, n := range counts {
		if n != 5 {
			t.Errorf("%s: %d of 5 records", name, n)
		}
	}
	if n := len(must[[]*Player](t)(players.TopByScore(ctx, persistable.NoLimit))); n != 3 {
		t.Errorf("TopByScore: %d of 3 records", n)
	}
	if n := len(must[persistable.Page[*Order]](t)(q.Page(ctx, "")).Records); n != 3 {
		t.Errorf("a page has %d records, want 3", n)
	}
	if x := must[*persistable.Explanation](t)(q.Explain(ctx)); x.Limit != 0 {
		t.Errorf("the explanation has the limit %d", x.Limit)
	}
	if parts := must[[]*persistable.Scan[*Order]](t)(persistable.Across(q, "").Split(ctx, 2)); len(parts) == 0 {
		t.Error("the scan cannot be divided")
	}
	if n := must[int](t)(s.DeleteWhere(ctx, q, persistable.BatchOptions{})); n != 5 {
		t.Errorf("%d of 5 records are deleted", n)
	}
}
