// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
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

// TestDeleteWhereInATransactionMissesNone creates a fitting record beside a transaction
// that deletes all: they conflict.
func TestDeleteWhereInATransactionMissesNone(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	check(t, s.CreateMany(ctx, manyOrders(100, 3), persistable.BatchOptions{}))
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		n, err := s.In(tx).DeleteWhere(ctx, s.ByStatus(Pending), persistable.BatchOptions{})
		if runs++; runs == 1 {
			check(t, s.Create(ctx, manyOrders(200, 1)[0]))
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
