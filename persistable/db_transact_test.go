// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestForgottenIn writes through a store that is not bound to the transaction: the first
// attempt ends with an error that says so, and nothing is written.
func TestForgottenIn(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, notes := OrderStoreOf(db, "t"), NoteStoreOf(db)
	check(t, orders.CreateWithID(ctx, idgen.ID(1), &Order{TenantID: "t", Number: "1"}))
	check(t, notes.Save(ctx, &Note{ID: 1}))
	before := dump(t, db)
	o := &Order{ID: 1, TenantID: "t", Number: "1", Amount: 1}
	writes := map[string]func() error{
		"Save":   func() error { return orders.Save(ctx, o) },
		"Delete": func() error { return orders.Delete(ctx, 1) },
		"Update": func() error { return orders.Update(ctx, 1, func(o *Order) error { o.Amount++; return nil }) },
		"batch":  func() error { return orders.SaveMany(ctx, []*Order{o}, persistable.BatchOptions{}) },
		"Transact": func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Save(ctx, o) })
		},
	}
	functions := map[string]func(write func() error) error{
		"Transact that writes nothing": func(write func() error) error {
			return db.Transact(ctx, func(persistable.Tx) error { return write() })
		},
		"ReadTransact": func(write func() error) error {
			return db.ReadTransact(ctx, func(tx persistable.Tx) error {
				if _, err := orders.In(tx).Get(ctx, 1); err != nil {
					return err
				}
				return write()
			})
		},
		"Transact that writes": func(write func() error) error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				if _, err := orders.In(tx).Get(ctx, 1); err != nil {
					return err
				}
				return errors.Join(write(), orders.In(tx).Save(ctx, &Order{ID: 2, TenantID: "t", Number: "2"}))
			})
		},
		"a consumer": func(write func() error) error {
			_, err := notes.Feed().Consumer("c").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return write() })
			return err
		},
		"Update of another type": func(write func() error) error {
			return notes.Update(ctx, 1, func(*Note) error { return write() })
		},
	}
	for function, run := range functions {
		for verb, write := range writes {
			runs := 0
			err := run(func() error { runs++; return write() })
			if !errors.Is(err, persistable.ErrOutsideTransaction) || !strings.Contains(err.Error(), "Order") || !strings.Contains(err.Error(), "In(tx)") {
				t.Errorf("%s, %s: %v, want an ErrOutsideTransaction that names the type", function, verb, err)
			}
			if runs != 1 {
				t.Errorf("%s, %s: the function ran %d times", function, verb, runs)
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("the failed functions have written (-before +after):\n%s", diff)
	}
	check(t, orders.Save(ctx, o)) // and no function runs any more
}

// TestOwnTransaction writes outside of a transaction that fails, on purpose.
func TestOwnTransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	refused := errors.New("refused")
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		check(t, orders.Save(persistable.OwnTransaction(ctx), &Order{ID: 1, TenantID: "t", Number: "1"}))
		return errors.Join(orders.In(tx).Save(ctx, &Order{ID: 2, TenantID: "t", Number: "2"}), refused)
	})
	if got := must[[]*Order](t)(orders.GetMany(ctx, []idgen.ID{1, 2})); !errors.Is(err, refused) || got[0] == nil || got[1] != nil {
		t.Errorf("%v, %v, want the first order only", err, got)
	}
}

// TestReadsAreNotOutside: a Transact within another one that only reads has no write that
// could be outside.
func TestReadsAreNotOutside(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, orders.CreateWithID(ctx, idgen.ID(1), &Order{TenantID: "t", Number: "1"}))
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		var o *Order
		//persistvet:ignore outsidetx the inner one only reads
		if err := db.Transact(ctx, func(inner persistable.Tx) (err error) {
			o, err = orders.In(inner).Get(ctx, 1)
			return err
		}); err != nil {
			return err
		}
		o.Amount = 5
		return orders.In(tx).Save(ctx, o)
	}))
	if o := must[*Order](t)(orders.Get(ctx, 1)); o.Amount != 5 {
		t.Errorf("the amount is %d, want 5", o.Amount)
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
		engine, err := embedded.OpenMemory() // its clock is the bubble's
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

// TestOpenReadOnly opens databases for reading: one that a DB has opened before, and one
// that has no key of page tokens. Neither is changed.
func TestOpenReadOnly(t *testing.T) {
	if err := (persistable.Options{ReadOnly: true}).Validate(); err == nil {
		t.Error("a DB that only reads may lease ids")
	}
	for _, before := range []bool{true, false} {
		folder := t.TempDir()
		engine, err := embedded.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := directory.Root().Create(t.Context(), engine, []string{"shop"}); err != nil {
			t.Fatal(err)
		}
		want := []string{"shop"}
		if before {
			want = []string{"kazahana", "shop"}
			db, err := persistable.Open(t.Context(), engine)
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
		reader, err := embedded.Open(folder, embedded.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		db, err := persistable.Open(t.Context(), reader, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
		if err != nil {
			t.Fatalf("opened before: %v: %v", before, err)
		}
		if names, err := db.ListDirectory(t.Context()); err != nil || !slices.Equal(names, want) {
			t.Errorf("opened before: %v: the root has %q, %v, want %q", before, names, err, want)
		}
		if err := db.Transact(t.Context(), func(persistable.Tx) error { return nil }); !errors.Is(err, persistable.ErrReadOnly) || !strings.Contains(err.Error(), "Options.ReadOnly") {
			t.Errorf("Transact: %v, want ErrReadOnly", err)
		}
		if err := errors.Join(db.Close(), reader.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// pairedReader is a transaction in which the first reads of keys with a certain part
// wait until there are two of them: two goroutines that look before they write
// have then both looked, and neither has written.
type pairedReader struct {
	kv.Transaction
	part []byte

	mu      sync.Mutex
	missing int
	met     chan struct{}
}

func pairReads(tx kv.Transaction, part string) *pairedReader {
	return &pairedReader{Transaction: tx, part: []byte(part), missing: 2, met: make(chan struct{})}
}

func (m *pairedReader) Get(key []byte) kv.Future[[]byte] {
	value := m.Transaction.Get(key)
	if bytes.Contains(key, m.part) {
		m.awaitOther()
	}
	return value
}

func (m *pairedReader) awaitOther() {
	m.mu.Lock()
	if m.missing > 0 {
		if m.missing--; m.missing == 0 {
			close(m.met)
		}
	}
	m.mu.Unlock()
	<-m.met
}

// Of two goroutines that write what cannot be written twice, in one
// transaction, one sees what the other has written.
func TestParallelWritesInOneTransaction(t *testing.T) {
	article := func(id, slug string) *Article {
		a := NewArticle(Article{Section: "s", Slug: slug, ISBN: ptr("978" + id + slug), Tags: []string{id, slug}, Published: day0})
		a.ID = id
		return a
	}
	type work func(*ArticleStore) error
	create := func(id, slug string) work {
		return func(s *ArticleStore) error { return s.Create(ctx, article(id, slug)) }
	}
	save := func(id, slug string) work {
		return func(s *ArticleStore) error { return s.Save(ctx, article(id, slug)) }
	}
	remove := func(s *ArticleStore) error { return s.Delete(ctx, "old") }
	taken := func(err error) bool { return errors.As(err, new(*persistable.UniqueError)) }
	exists := func(err error) bool { return errors.Is(err, persistable.ErrExists) }
	for name, c := range map[string]struct {
		one, two work
		loses    func(error) bool // nil: both succeed
		records  []int            // how many there may be at the end
	}{
		"one value, Create":           {create("a", "x"), create("b", "x"), taken, []int{2}},
		"one value, Save":             {save("a", "x"), save("b", "x"), taken, []int{2}},
		"one value, a record changed": {save("old", "x"), create("b", "x"), taken, []int{1, 2}},
		"one id, Create":              {create("a", "x"), create("a", "y"), exists, []int{2}},
		"one id, Save":                {save("a", "x"), save("a", "y"), nil, []int{2}},
		"one id, both change it":      {save("old", "x"), save("old", "y"), nil, []int{1}},
		"one id, changed and deleted": {save("old", "x"), remove, nil, []int{0, 1}},
		"one id, deleted twice":       {remove, remove, nil, []int{0}},
		"nothing in common":           {create("a", "x"), create("b", "y"), nil, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := ArticleStoreOf(db)
			check(t, s.Create(ctx, article("old", "old")))
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			defer tx.Cancel()
			part := "\x02Article_ISBN_unique\x00" // the last key that a write looks at
			if name == "one id, deleted twice" || name == "one id, changed and deleted" {
				part = "\x02old\x00"
			}
			bound := s.In(db.In(pairReads(tx, part)))
			errs := make([]error, 2)
			var writers sync.WaitGroup
			for i, work := range []work{c.one, c.two} {
				writers.Go(func() { errs[i] = work(bound) })
			}
			writers.Wait()
			lost := 0
			for _, err := range errs {
				switch {
				case err == nil:
				case c.loses != nil && c.loses(err):
					lost++
				default:
					t.Error(err)
				}
			}
			if (c.loses != nil) != (lost == 1) {
				t.Errorf("%d lost: %v", lost, errs)
			}
			check(t, tx.Commit(ctx))
			report := sound(t, s.Indexes().Verify)
			for _, n := range c.records {
				if report.Records == n {
					return
				}
			}
			t.Errorf("%d records, want one of %v", report.Records, c.records)
		})
	}
}
