// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// The transactions here change directories or headers themselves, and go on.

// changing runs fn in a transaction that the program began itself.
func changing(t *testing.T, db *persistable.DB, fn func(tx kv.Transaction)) {
	t.Helper()
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	fn(tx)
	check(t, tx.Commit(ctx))
}

// hold begins a transaction with a record in s, and checks what its commit says
// after what others have done in between.
func hold(t *testing.T, db *persistable.DB, s *OrderStore, meanwhile func(), conflicts bool) {
	t.Helper()
	must[[]*Order](t)(s.Scan().Slice(ctx)) // the store is opened and cached
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	check(t, s.In(db.In(tx)).Create(ctx, s.New(Order{Number: "held", Status: Paid, CreatedAt: day0, Amount: 1})))
	meanwhile()
	if err := tx.Commit(ctx); kv.IsConflict(err) != conflicts || !conflicts && err != nil {
		t.Errorf("Commit = %v, want a conflict: %v", err, conflicts)
	}
}

func TestRemovalInTheSameTransaction(t *testing.T) {
	tenant := []string{"tenants", "t"}
	for name, bound := range map[string]func(*persistable.DB, kv.Transaction) func() persistable.Tx{
		"one Tx": func(db *persistable.DB, tx kv.Transaction) func() persistable.Tx {
			one := db.In(tx)
			return func() persistable.Tx { return one }
		},
		"a Tx for each": func(db *persistable.DB, tx kv.Transaction) func() persistable.Tx {
			return func() persistable.Tx { return db.In(tx) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := OrderStoreOf(db, "t")
			o := s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
			check(t, s.Create(ctx, o))
			before := must[*directory.Directory](t)(directory.Root().Open(ctx, db.Engine(), append(tenant, "orders")))
			two := s.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1})
			three := s.New(Order{Number: "3", Status: Paid, CreatedAt: day0, Amount: 1})
			changing(t, db, func(kvtx kv.Transaction) {
				tx := bound(db, kvtx)
				o.Amount = 2
				check(t, s.In(tx()).Save(ctx, o))
				check(t, directory.Root().Remove(ctx, kvtx, tenant))
				wantError(t, second(s.In(tx()).Get(ctx, o.ID)), persistable.ErrNotFound)
				check(t, s.In(tx()).Delete(ctx, o.ID))
				check(t, s.In(tx()).Create(ctx, two))
				check(t, s.In(tx()).Create(ctx, three))
				if n := must[int](t)(s.In(tx()).Scan().Count(ctx)); n != 2 {
					t.Errorf("the transaction sees %d records, want 2", n)
				}
			})
			if got := numbers(must[[]*Order](t)(s.Scan().Slice(ctx))); fmt.Sprint(got) != "[2 3]" {
				t.Errorf("the new directory has %v", got)
			}
			sound(t, s.Indexes().Verify)
			prefix := must[[]byte](t)(before.Prefix())
			for key := range dump(t, db) {
				if len(key) >= len(prefix) && key[:len(prefix)] == string(prefix) {
					t.Errorf("a key is left in the removed directory: %q", key)
				}
			}
		})
	}
}

func TestMoveInTheSameTransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, moved := OrderStoreOf(db, "old"), OrderStoreOf(db, "new")
	o := old.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
	check(t, old.Create(ctx, o))
	two := old.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1})
	changing(t, db, func(kvtx kv.Transaction) {
		tx := db.In(kvtx)
		must[*Order](t)(old.In(tx).Get(ctx, o.ID))
		second(directory.Root().Move(ctx, kvtx, []string{"tenants", "old"}, []string{"tenants", "new"}))
		wantError(t, second(old.In(tx).Get(ctx, o.ID)), persistable.ErrNotFound)
		must[*Order](t)(moved.In(tx).Get(ctx, o.ID))
		check(t, moved.In(tx).Delete(ctx, o.ID))
		check(t, old.In(tx).Create(ctx, two))
	})
	for name, want := range map[string]int{"old": 1, "new": 0} {
		s := OrderStoreOf(db, name)
		if n := must[int](t)(s.Scan().Count(ctx)); n != want {
			t.Errorf("%s has %d records, want %d", name, n, want)
		}
		sound(t, s.Indexes().Verify)
	}
}

// Programs of one transaction that each add a field to the headers of two stores, and
// lack indexes of the others: all indexes stay complete.
func TestHeadersChangedInOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		newer := version(db, tags, editor)
		articles(t, newer, 3)
		orders := OrderStoreOf(db, "t")
		adding := func(number, index int) *ArticleStore {
			schema := articleSchemaWith(indexOfArticles(index))
			schema.Lock += fmt.Sprintf("\tfield %d X%d string\n", number, number)
			return articlesOf(db, schema)
		}
		programs := []*ArticleStore{adding(20, tags), adding(21, editor)}
		changed := []*Article{
			NewArticle(Article{Section: "s", Slug: "x", Tags: []string{"all"}, Published: day0}),
			NewArticle(Article{Section: "s", Slug: "y", Tags: []string{"all"}, Published: day0}),
		}
		order := orders.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
		check(t, kv.Transactor(db.Engine()).Transact(ctx, func(kvtx kv.Transaction) error {
			for i, s := range programs {
				if err := s.In(db.In(kvtx)).Save(ctx, changed[i]); err != nil {
					return err
				}
			}
			return orders.In(db.In(kvtx)).Save(ctx, order)
		}))
		for i, s := range append(programs, newer) {
			if n, want := must[int](t)(byIndex(s, 0).Count(ctx)), []int{8, 5, 8}[i]; n != want {
				t.Errorf("%d entries, want %d", n, want)
			}
			if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
				t.Errorf("not readable: %v", r.Skipped)
			}
		}
		must[*Order](t)(orders.Get(ctx, order.ID))
	})
}

// What a transaction took from the cache must still be true when it commits.
func TestCachedStoreAndOthersChanges(t *testing.T) {
	move := func(db *persistable.DB, from, to []string) error {
		return second(directory.Root().Move(ctx, db.Engine(), from, to))
	}
	for name, c := range map[string]struct {
		meanwhile func(*persistable.DB) error
		conflicts bool
	}{
		"its tenant moved":  {func(db *persistable.DB) error { return move(db, []string{"tenants", "t"}, []string{"tenants", "v"}) }, true},
		"all tenants moved": {func(db *persistable.DB) error { return move(db, []string{"tenants"}, []string{"customers"}) }, true},
		"itself moved": {func(db *persistable.DB) error {
			return move(db, []string{"tenants", "t", "orders"}, []string{"tenants", "t", "old"})
		}, true},
		"itself removed":      {func(db *persistable.DB) error { return db.RemoveDirectory(ctx, "tenants", "t", "orders") }, true},
		"its tenant removed":  {func(db *persistable.DB) error { return db.RemoveDirectory(ctx, "tenants", "t") }, true},
		"all tenants removed": {func(db *persistable.DB) error { return db.RemoveDirectory(ctx, "tenants") }, true},
		"an index rebuilt": {func(db *persistable.DB) error {
			return OrderStoreOf(db, "t").Indexes().Rebuild(ctx, "Order_Status", persistable.BuildOptions{})
		}, true},
		"another tenant removed": {func(db *persistable.DB) error { return db.RemoveDirectory(ctx, "tenants", "u") }, false},
		"another tenant moved":   {func(db *persistable.DB) error { return move(db, []string{"tenants", "u"}, []string{"tenants", "v"}) }, false},
		"another tenant created": {func(db *persistable.DB) error {
			s := OrderStoreOf(db, "w")
			return s.Create(ctx, s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s, u := OrderStoreOf(db, "t"), OrderStoreOf(db, "u")
			check(t, s.Create(ctx, s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})))
			check(t, u.Create(ctx, u.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})))
			hold(t, db, s, func() { check(t, c.meanwhile(db)) }, c.conflicts)
		})
	}
}

// TestStoreOpenedLateInATransaction opens a second store, not cached, in a
// transaction that many commits of others have overtaken: 1,100, or fewer on a cluster that
// is too slow for them, since its transactions last five seconds.
func TestStoreOpenedLateInATransaction(t *testing.T) {
	if enginetest.Cluster {
		openLate(t, enginetest.Open(t))
		return
	}
	synctest.Test(t, func(t *testing.T) { openLate(t, enginetest.InProcess(t)) }) // where no time passes
}

func openLate(t *testing.T, engine kv.Database) {
	db := open(t, engine)
	for _, tenant := range []string{"a", "b"} {
		check(t, OrderStoreOf(db, tenant).CreateWithID(ctx, 1, &Order{TenantID: tenant, Number: "1", Status: Pending, CreatedAt: day0}))
	}

	fresh := open(t, engine) // another process, which has opened nothing yet
	runs, begun := 0, time.Now()
	check(t, fresh.Transact(ctx, func(tx persistable.Tx) error {
		if runs++; runs > 1 {
			return errors.New("it had to run again")
		}
		if _, err := OrderStoreOf(fresh, "a").In(tx).Scan().Count(ctx); err != nil {
			return err
		}
		for i := 0; i < 1100 && time.Since(begun) < 3*time.Second; i++ {
			//persistvet:ignore outsidetx other writers advance the version
			check(t, engine.Transact(ctx, func(k kv.Transaction) error { k.Set([]byte("other"), nil); return nil }))
		}
		_, err := OrderStoreOf(fresh, "b").In(tx).Get(ctx, 1)
		return err
	}))
}
