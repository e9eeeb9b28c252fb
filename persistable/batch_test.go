// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// manyOrders returns orders with the ids and numbers from, from+1, …
func manyOrders(from, n int) []*Order {
	all := make([]*Order, n)
	for i := range all {
		all[i] = &Order{ID: idgen.ID(from + i), TenantID: "t", Number: fmt.Sprintf("%06d", from+i), CreatedAt: day0}
	}
	return all
}

// steps returns options that note the sizes of the transactions.
func steps(records int) (persistable.BatchOptions, *[]int) {
	var sizes []int
	return persistable.BatchOptions{Records: records, Progress: func(p persistable.BatchProgress) {
		sizes = append(sizes, p.Last)
	}}, &sizes
}

// TestBatchCost counts the rounds: one a transaction, however many records it has. CreateMany
// needs no gets after its first transaction, but for the ids of scattered records.
func TestBatchCost(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := OrderStoreOf(open(t, counter), "t")
	firstOrder(t, s)
	must[*Order](t)(s.Get(ctx, 1)) // opens the store
	all := manyOrders(100, 700)
	changed := manyOrders(100, 700)
	for _, o := range changed {
		o.Amount = 1
	}
	created := 200
	if *scatterAll != 0 {
		created += 600
	}
	for _, c := range []struct {
		name                          string
		rounds, gets, writes, commits int
		run                           func(o persistable.BatchOptions) error
		sizes                         string
	}{
		{"CreateMany", 3, created, 2800, 3, func(o persistable.BatchOptions) error { return s.CreateMany(ctx, all, o) }, "[100 200 400]"},
		{"SaveMany, nothing changed", 3, 1400, 0, 3, func(o persistable.BatchOptions) error { return s.SaveMany(ctx, all, o) }, "[100 200 400]"},
		{"SaveMany", 3, 1400, 700, 3, func(o persistable.BatchOptions) error { return s.SaveMany(ctx, changed, o) }, "[100 200 400]"},
		// Of each transaction: the entries, the records, and the records as what is deleted. The second and
		// the third fetch records in two rounds: the size of the first 128 says how many fit in memory.
		{"DeleteWhere", 11, 1200, 2400, 3, func(o persistable.BatchOptions) error {
			return second(s.DeleteWhere(ctx, s.OrderedByNumber().From("000100").Limit(600).Query(), o))
		}, "[100 200 300]"},
		{"DeleteMany", 1, 2, 8, 1, func(o persistable.BatchOptions) error {
			return persistable.DeleteMany(ctx, &s.Store, []idgen.ID{700, 701}, o)
		}, "[2]"},
	} {
		o, sizes := steps(400)
		counts, err := counter.Measure(func() error { return c.run(o) })
		check(t, err)
		if counts.Rounds != c.rounds || counts.Gets != c.gets || counts.Writes != c.writes || counts.Commits != c.commits {
			t.Errorf("%s cost %v", c.name, counts)
		}
		if got := fmt.Sprint(*sizes); got != c.sizes {
			t.Errorf("%s: transactions of %s, want %s", c.name, got, c.sizes)
		}
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 99 {
		t.Errorf("%d records are left, want 99", n)
	}
	sound(t, s.Indexes().Verify)
}

// TestBatchStopsAtARecord stops at a record that cannot be written: those before it
// are written, and the call can go on after it.
func TestBatchStopsAtARecord(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		for name, bad := range map[string]struct {
			change func(o *Order)
			is     func(err error) bool
		}{
			"id":       {func(o *Order) { o.ID-- }, func(err error) bool { return errors.Is(err, persistable.ErrExists) }},
			"number":   {func(o *Order) { o.Number = "000010" }, func(err error) bool { return errors.As(err, new(*persistable.UniqueError)) }},
			"tenant":   {func(o *Order) { o.TenantID = "u" }, func(err error) bool { return errors.As(err, new(*persistable.DirectoryError)) }},
			"encoding": {func(o *Order) { o.Number = "\xff" }, func(err error) bool { return errors.As(err, new(*persistable.FieldError)) }},
		} {
			all := manyOrders(10, 30)
			bad.change(all[17])
			err := s.CreateMany(ctx, all, persistable.BatchOptions{Records: 7})
			e := wantAs[*persistable.PartialError](t, err)
			if e.Done != 17 || e.Uncertain != 0 || e.Type != "Order" || !bad.is(err) {
				t.Errorf("%s: %v", name, err)
			}
			if n := must[int](t)(s.Scan().Count(ctx)); n != 17 {
				t.Errorf("%s: %d records are there, want 17", name, n)
			}
			check(t, s.CreateMany(ctx, all[18:], persistable.BatchOptions{}))
			if n := must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{Records: 8})); n != 29 {
				t.Errorf("%s: %d records were deleted, want 29", name, n)
			}
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchFrom reads a sequence that is larger than what may be in memory, and one
// that fails.
func TestBatchFrom(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	pulled, done, most := 0, 0, 0
	from := func(n int, last error) iter.Seq2[*Order, error] {
		return func(yield func(*Order, error) bool) {
			for _, o := range manyOrders(1, n) {
				pulled++
				most = max(most, pulled-done)
				o.Status = OrderStatus(pulled % 3)
				if !yield(o, nil) {
					return
				}
			}
			if last != nil {
				yield(nil, last)
			}
		}
	}
	o := persistable.BatchOptions{Records: 50, Progress: func(p persistable.BatchProgress) { done = p.Done }}
	if n, err := persistable.CreateFrom(ctx, &s.Store, from(1000, nil), o); n != 1000 || err != nil || most > 50 {
		t.Errorf("%d records, %v, %d were in memory", n, err, most)
	}
	pulled, done = 0, 0
	n, err := persistable.SaveFrom(ctx, &s.Store, from(120, errRefused), o)
	if e := wantAs[*persistable.PartialError](t, err); n != 120 || e.Done != 120 || !errors.Is(err, errRefused) {
		t.Errorf("%d records, %v", n, err)
	}
	// From one store to another, below the type of the query.
	t2 := OrderStoreOf(db, "t2")
	moved := func(yield func(*Order, error) bool) {
		for o, err := range s.ByStatus(Paid).All(ctx) {
			if err == nil {
				o.TenantID = "t2"
			}
			if !yield(o, err) {
				return
			}
		}
	}
	want := must[int](t)(s.ByStatus(Paid).Count(ctx))
	if n := must[int](t)(persistable.SaveFrom(ctx, &t2.Store, moved, o)); n != want || n != must[int](t)(t2.Scan().Count(ctx)) {
		t.Errorf("%d records were copied, want %d", n, want)
	}
	sound(t, t2.Indexes().Verify)
}

// TestBatchAdapts refuses transactions as too large, and lets attempts conflict: the
// transactions get smaller, and then larger again.
func TestBatchAdapts(t *testing.T) {
	tooLarge := func(func() error) error { return kv.NewError(kv.CodeTransactionTooLarge, "made up") }
	tooOld := func(func() error) error { return kv.NewError(kv.CodeTransactionTooOld, "made up") }
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	firstOrder(t, s)
	for _, c := range []struct {
		name  string
		fates func(int, func() error) error
		want  string
	}{
		{"too large", fates(tooLarge, tooLarge), "[25 50 100 125]"},
		{"too old", fates(tooOld, tooOld), "[25 25 50 100 100]"},
		{"conflict", fates(honest, conflict), "[100 100 100]"},
		{"lost", fates(lost), "[100 200]"},
	} {
		o, sizes := steps(200)
		engine.begin(nil, c.fates)
		check(t, s.CreateMany(ctx, manyOrders(1000, 300), o))
		if got := fmt.Sprint(*sizes); got != c.want {
			t.Errorf("%s: transactions of %s, want %s", c.name, got, c.want)
		}
		engine.begin(nil, nil)
		must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{}))
	}
	engine.begin(nil, func(int, func() error) error { return tooLarge(nil) })
	err := s.CreateMany(ctx, manyOrders(1000, 3), persistable.BatchOptions{})
	if e := wantAs[*persistable.PartialError](t, err); e.Done != 0 || kv.CodeOf(err) != kv.CodeTransactionTooLarge {
		t.Errorf("always too large: %v", err)
	}

	// Bytes bound a transaction, too.
	engine.begin(nil, nil)
	articles := ArticleStoreOf(open(t, engine.Database))
	var large []*Article
	for i := range 12 {
		large = append(large, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Body: make([]byte, 300_000)}))
	}
	o, sizes := steps(0)
	check(t, articles.CreateMany(ctx, large, o))
	if got := fmt.Sprint(*sizes); got != "[3 3 3 3]" {
		t.Errorf("large records: transactions of %s", got)
	}
	sound(t, articles.Indexes().Verify)
}

// TestBatchLosesAcknowledgements loses, one after the other, each commit's
// acknowledgement: nothing is written twice, and the counts are right.
func TestBatchLosesAcknowledgements(t *testing.T) {
	for name, fate := range map[string]func(func() error) error{"lost": lost, "dropped": dropped} {
		for at := 1; at <= 4; at++ {
			engine := &faulty{Database: enginetest.Open(t)}
			s := OrderStoreOf(open(t, engine), "t")
			firstOrder(t, s)
			fateOf := func(n int, commit func() error) error {
				if n == at || n == at+1 {
					return fate(commit)
				}
				return commit()
			}
			all := manyOrders(100, 25)
			o, sizes := steps(10)
			engine.begin(nil, fateOf)
			check(t, s.CreateMany(ctx, all, o))
			engine.begin(nil, fateOf)
			check(t, s.SaveMany(ctx, all, o))
			engine.begin(nil, fateOf)
			n, err := s.DeleteWhere(ctx, s.OrderedByNumber().From("000100").To("09").Query(), o)
			engine.begin(nil, nil)
			if err != nil || n != 25 {
				t.Errorf("%s at %d: %d records were deleted, %v", name, at, n, err)
			}
			total := 0
			for _, size := range *sizes {
				total += size
			}
			if total != 75 {
				t.Errorf("%s at %d: the progress told of %d records, want 75", name, at, total)
			}
			if r := sound(t, s.Indexes().Verify); r.Records != 1 {
				t.Errorf("%s at %d: %d records are left", name, at, r.Records)
			}
			engine.begin(nil, fateOf)
			check(t, s.CreateMany(ctx, all, o))
			if n, err := s.DeleteWhere(ctx, s.Scan().Limit(13), o); n != 13 || err != nil {
				t.Errorf("%s at %d: with a limit %d records were deleted, %v", name, at, n, err)
			}
		}
	}
}

// TestBatchOfUnknownOutcome ends the context during a commit.
func TestBatchOfUnknownOutcome(t *testing.T) {
	for _, committed := range []bool{true, false} {
		engine := &faulty{Database: enginetest.Open(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		engine.begin(nil, func(n int, commit func() error) error {
			if n != 2 {
				return commit()
			}
			if committed {
				check(t, commit())
			}
			return fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, context.Canceled)
		})
		err := s.CreateMany(ctx, manyOrders(100, 25), persistable.BatchOptions{Records: 10})
		e := wantAs[*persistable.PartialError](t, err)
		if e.Done != 10 || e.Uncertain != 10 || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "up to 10 more") {
			t.Errorf("%v", err)
		}
	}
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	err := s.CreateMany(ended, manyOrders(100, 25), persistable.BatchOptions{})
	if e := wantAs[*persistable.PartialError](t, err); e.Done+e.Uncertain != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestBatchInATransaction binds batches to a transaction: they are a part of it.
func TestBatchInATransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		calls := 0
		o := persistable.BatchOptions{Records: 7, Progress: func(persistable.BatchProgress) { calls++ }}
		undo := errors.New("undo")
		work := func(result error) error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				bound := s.In(tx)
				if err := bound.CreateMany(ctx, manyOrders(100, 25), o); err != nil {
					return err
				}
				if n, err := bound.DeleteWhere(ctx, bound.OrderedByNumber().From("000110").To("09").Query(), o); n != 15 || err != nil {
					return fmt.Errorf("%d deleted: %w", n, err)
				}
				err := bound.CreateMany(ctx, manyOrders(109, 2), o)
				if e := wantAs[*persistable.PartialError](t, err); e.Done != 0 || !errors.Is(err, persistable.ErrExists) {
					t.Errorf("%v", err)
				}
				return result
			})
		}
		wantError(t, work(undo), undo)
		if n := must[int](t)(s.Scan().Count(ctx)); n != 1 {
			t.Errorf("%d records after a failed transaction", n)
		}
		check(t, work(nil))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 11 || calls > 0 {
			t.Errorf("%d records, %d calls of Progress", n, calls)
		}
		if _, err := s.DeleteWhere(ctx, OrderStoreOf(db, "u").Scan(), o); err == nil {
			t.Error("a query of another tenant was deleted")
		}
		if err := s.CreateMany(ctx, nil, persistable.BatchOptions{Records: -1, Bytes: -1}); err == nil || !strings.Contains(err.Error(), "Bytes") {
			t.Errorf("wrong options: %v", err)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestDeleteWhereBesideWrites creates a record in the range of a deletion before its
// commit, which does not matter, and changes one so that it does not fit any more:
// that one stays.
func TestDeleteWhereBesideWrites(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	other := OrderStoreOf(open(t, engine.Database), "t")
	check(t, s.CreateMany(ctx, manyOrders(100, 10), persistable.BatchOptions{}))
	for _, c := range []struct {
		name    string
		write   func() error
		commits int
		deleted int
	}{
		{"a new record", func() error { return other.Create(ctx, manyOrders(50, 1)[0]) }, 1, 10},
		{"a changed record", func() error {
			return other.Update(ctx, 105, func(o *Order) error { o.Status = Shipped; return nil })
		}, 2, 9},
	} {
		check(t, s.SaveMany(ctx, manyOrders(100, 10), persistable.BatchOptions{}))
		commits := 0
		engine.begin(nil, func(n int, commit func() error) error {
			if commits = n; n == 1 {
				check(t, c.write())
			}
			return commit()
		})
		n, err := s.DeleteWhere(ctx, s.ByStatus(Pending), persistable.BatchOptions{})
		engine.begin(nil, nil)
		if err != nil || n != c.deleted || commits != c.commits {
			t.Errorf("%s: %d deleted in %d commits, %v, want %d in %d", c.name, n, commits, err, c.deleted, c.commits)
		}
		check(t, s.Delete(ctx, 50))
	}
	if o := must[*Order](t)(s.Get(ctx, 105)); o.Status != Shipped {
		t.Errorf("stored: %+v", o)
	}
	sound(t, s.Indexes().Verify)
}

// TestSaveExistingFrom stops at the first record that does not exist: those before it are
// saved, and it is not created.
func TestSaveExistingFrom(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		check(t, s.CreateMany(ctx, manyOrders(1, 20), persistable.BatchOptions{}))
		changed := manyOrders(1, 30)
		for _, o := range changed {
			o.Amount = 7
		}
		e := wantAs[*persistable.PartialError](t, saveExistingMany(s, changed, persistable.BatchOptions{Records: 8}))
		if e.Done != 20 || !errors.Is(e, persistable.ErrNotFound) {
			t.Errorf("%v", e)
		}
		for o, err := range s.Scan().All(ctx) {
			if check(t, err); o.Amount != 7 || o.ID > 20 {
				t.Errorf("the record %v has the amount %d", o.ID, o.Amount)
			}
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchesWithoutAStore: saving over records of a store that does not exist, or deleting
// them, makes no directory.
func TestBatchesWithoutAStore(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "nobody")
		e := wantAs[*persistable.PartialError](t, saveExistingMany(s, manyOrdersOf("nobody", 3), persistable.BatchOptions{}))
		if e.Done != 0 || !errors.Is(e, persistable.ErrNotFound) {
			t.Errorf("saving: %v", e)
		}
		check(t, persistable.DeleteMany(ctx, &s.Store, []idgen.ID{1, 2}, persistable.BatchOptions{}))
		if _, err := db.Layer().Open(ctx, db.Engine(), s.Path()); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the directory: %v", err)
		}
	})
}

func manyOrdersOf(tenant string, n int) []*Order {
	all := manyOrders(1, n)
	for _, o := range all {
		o.TenantID = tenant
	}
	return all
}
