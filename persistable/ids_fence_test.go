// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestFencedIDs stalls a writer between its reads and its commit, while the
// machine id under which it made its record's id is granted to others. With the
// fence nothing is written; without it the write succeeds.
func TestFencedIDs(t *testing.T) {
	writes := map[string]func(db *persistable.DB, o *Order) error{
		"Create": func(db *persistable.DB, o *Order) error { return OrderStoreOf(db, "t").Create(ctx, o) },
		"Save":   func(db *persistable.DB, o *Order) error { return OrderStoreOf(db, "t").Save(ctx, o) },
		"Transact": func(db *persistable.DB, o *Order) error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return OrderStoreOf(db, "t").In(tx).Create(ctx, o) })
		},
		"the caller's transaction": func(db *persistable.DB, o *Order) error {
			return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				return OrderStoreOf(db, "t").In(db.In(tx)).Create(ctx, o)
			})
		},
	}
	for name, write := range writes {
		for _, fenced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, fenced %v", name, fenced), func(t *testing.T) {
				engine := &faulty{Database: enginetest.Open(t)}
				db := openWith(t, engine, fencedOptions(fenced))
				orders := OrderStoreOf(db, "t")
				first := orders.New(Order{Number: "first", Status: Pending, CreatedAt: day0, Amount: 1})
				check(t, orders.Create(ctx, first)) // the fence holds
				stalled := orders.New(Order{Number: "stalled", Status: Pending, CreatedAt: day0, Amount: 1})
				engine.begin(nil, func(n int, commit func() error) error {
					if n == 1 {
						takeAll(t, engine.Database, later)
					}
					return commit()
				})
				err := write(db, stalled)
				engine.begin(nil, nil)
				n := must[int](t)(orders.Scan().Count(ctx))
				if !fenced {
					check(t, err)
					if n != 2 {
						t.Errorf("%d records, want 2", n)
					}
					return
				}
				e := wantAs[*persistable.FenceError](t, err)
				wantError(t, e, leasefdb.ErrLeaseLost)
				if e.Type != "Order" || e.ID == "" || n != 1 {
					t.Errorf("%+v, and %d records, want 1", e, n)
				}
				first.Amount = 2 // a Save over a stored record is not fenced
				check(t, orders.Save(ctx, first))
				check(t, orders.Delete(ctx, first.ID))
			})
		}
	}
}

// TestFencedIDsOfOthers checks which ids a fenced DB does not take.
func TestFencedIDsOfOthers(t *testing.T) {
	engine := enginetest.Open(t)
	db := openWith(t, engine, fencedOptions(true))
	other := openWith(t, engine, fencedOptions(true))
	orders := OrderStoreOf(db, "t")
	n := 0
	order := func(id idgen.ID) *Order {
		n++
		return &Order{ID: id, TenantID: "t", Number: fmt.Sprint(n)}
	}
	for name, id := range map[string]idgen.ID{
		"another DB's": must[idgen.ID](t)(other.IDs().Next(ctx)),
		"standalone":   must[idgen.ID](t)(idgen.Must(idgen.NewClient(idgen.Options{Layout: four.Default.Layout})).Next(ctx)),
		"made up":      7,
	} {
		e := wantAs[*persistable.FenceError](t, orders.Create(ctx, order(id)))
		if !errors.Is(e, leasefdb.ErrLeaseLost) {
			t.Errorf("%s: %v", name, e)
		}
		wantAs[*persistable.FenceError](t, orders.Save(ctx, order(id)))
		check(t, orders.CreateWithID(ctx, id, order(0))) // an import
		check(t, orders.Save(ctx, order(id)))
	}
	own := must[idgen.ID](t)(db.IDs().Next(ctx))
	check(t, orders.Create(ctx, order(own)))
	wantError(t, orders.Create(ctx, order(own)), persistable.ErrExists)
	check(t, ArticleStoreOf(db).Create(ctx, NewArticle(Article{Section: "s", Slug: "a", Published: day0}))) // ULIDs are not concerned

	// A released lease still counts until another process has the machine id.
	late, tooLate := must[idgen.ID](t)(db.IDs().Next(ctx)), must[idgen.ID](t)(db.IDs().Next(ctx))
	check(t, db.Close())
	check(t, orders.Create(ctx, order(late)))
	takeAll(t, engine, later)
	wantAs[*persistable.FenceError](t, orders.Create(ctx, order(tooLate)))
}

// TestFencedIDsLostAcknowledgement checks that a creation that did happen is
// reported as such, although its machine id is another's by the time of the
// question.
func TestFencedIDsLostAcknowledgement(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := openWith(t, engine, fencedOptions(true))
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "first", Status: Pending, CreatedAt: day0, Amount: 1})))
	o := orders.New(Order{Number: "second", Status: Pending, CreatedAt: day0, Amount: 1})
	engine.begin(nil, func(n int, commit func() error) error {
		if n > 1 {
			return commit()
		}
		err := lost(commit)
		takeAll(t, engine.Database, later)
		return err
	})
	check(t, orders.Create(ctx, o))
	engine.begin(nil, nil)
	must[*Order](t)(orders.Get(ctx, o.ID))
}

// TestFencedIDsCost checks that the fence is one read in the same round.
func TestFencedIDsCost(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	db := openWith(t, counter, fencedOptions(true))
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))
	must[int](t)(orders.Scan().Count(ctx)) // it is opened
	n, err := counter.Measure(func() error {
		return orders.Create(ctx, orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1}))
	})
	check(t, err)
	if n.Rounds != 1 || n.Gets != 3 {
		t.Errorf("a Create under a fenced id costs %v", n)
	}
}
