// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
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

func claim(t testing.TB, engine kv.Database, owner string) leasefdb.Grant {
	t.Helper()
	names := must[*leasefdb.Names](t)(leasefdb.NewNames(engine, nil))
	return must[leasefdb.Grant](t)(names.Claim(ctx, engine, "writer", leasefdb.Claim{Holder: owner}))
}

// TestUnderALease stalls each kind of write between its reads and its commit
// while the lease changes hands: nothing may be written. Without the fence the
// same write succeeds.
func TestUnderALease(t *testing.T) {
	type writer struct {
		db     *persistable.DB
		orders *OrderStore
		old    *Order
	}
	writes := map[string]func(w writer) error{
		"Create": func(w writer) error {
			return w.orders.Create(ctx, w.orders.New(Order{Number: "new", Status: Pending, CreatedAt: day0, Amount: 1}))
		},
		"Save": func(w writer) error {
			changed := *w.old
			changed.Amount++
			return w.orders.Save(ctx, &changed)
		},
		"Delete": func(w writer) error { return w.orders.Delete(ctx, w.old.ID) },
		"Transact": func(w writer) error {
			return w.db.Transact(ctx, func(tx persistable.Tx) error {
				return w.orders.In(tx).Delete(ctx, w.old.ID)
			})
		},
		"Transact with keys of one's own": func(w writer) error {
			return w.db.Transact(ctx, func(tx persistable.Tx) error {
				tx.KV().Set([]byte("\x01mine"), nil)
				return nil
			})
		},
		"Indexes().Rebuild": func(w writer) error {
			return w.orders.Indexes().Rebuild(ctx, "Order_Number_unique", persistable.BuildOptions{})
		},
		"RemoveDirectory": func(w writer) error { return w.db.RemoveDirectory(ctx, "tenants", "t") },
		"the caller's transaction": func(w writer) error {
			return w.db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				return w.orders.In(w.db.In(tx)).Delete(ctx, w.old.ID)
			})
		},
	}
	for name, write := range writes {
		for _, fenced := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", fenced", false: ", not fenced"}[fenced], func(t *testing.T) {
				engine := &faulty{Database: enginetest.Open(t)}
				db := open(t, engine)
				orders := OrderStoreOf(db, "t")
				old := someOrders(t, orders, 3)[0]
				g := claim(t, engine, "me")
				w := writer{db, orders, old}
				if fenced {
					w.db = db.Under(g.Fence())
					w.orders = OrderStoreOf(w.db, "t")
				}
				must[*Order](t)(w.orders.Get(ctx, old.ID)) // open it
				before := dump(t, db)
				engine.begin(nil, func(n int, commit func() error) error {
					if n == 1 { // the writer is suspended, and another takes his place
						check(t, g.Release(ctx, engine.Database))
						claim(t, engine.Database, "you")
					}
					return commit()
				})
				err := write(w)
				engine.begin(nil, nil)
				if !fenced {
					check(t, err)
					return
				}
				wantError(t, err, persistable.ErrFenced)
				wantError(t, err, leasefdb.ErrLeaseLost)
				after := dump(t, db)
				for key := range before {
					if string(before[key]) != string(after[key]) && string(key) != string(g.Fence().Key()) && len(after[key]) != 8 {
						t.Errorf("the key %x was changed", key)
					}
				}
				if len(after) != len(before) {
					t.Errorf("there were %d keys, now there are %d", len(before), len(after))
				}
			})
		}
	}
}

// TestUnderHolds checks that what is written under a fence that holds is
// written, on the hostile engine too, by all goroutines of a transaction.
func TestUnderHolds(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		g := claim(t, db.Engine(), "me")
		fenced := db.Under(leasefdb.Fence{}, g.Fence())
		orders := OrderStoreOf(fenced, "t")
		all := someOrders(t, orders, 4)
		check(t, fenced.Transact(ctx, func(tx persistable.Tx) error {
			done := make(chan error)
			for _, o := range all {
				go func() { done <- orders.In(tx).Save(ctx, o) }()
			}
			var err error
			for range all {
				if one := <-done; one != nil {
					err = one
				}
			}
			return err
		}))
		_, err := g.Renew(ctx, db.Engine())
		check(t, err)
		check(t, orders.Delete(ctx, all[0].ID))
		check(t, fenced.RemoveDirectory(ctx, "tenants", "t"))
		wantError(t, fenced.RemoveDirectory(ctx, "tenants", "unknown"), persistable.ErrNotFound)
	})
}

// TestUnderTellsOfUnknownOutcomes: a fence is told once of a transaction of stores that leaves open whether it has committed.
func TestUnderTellsOfUnknownOutcomes(t *testing.T) {
	engine := &enginetest.Lossy{Database: enginetest.InProcess(t)}
	db := open(t, engine)
	told := 0
	fence := claim(t, engine, "me").Fence().WhenUnknown(func(error) { told++ })
	orders := OrderStoreOf(db.Under(fence), "t")
	o := someOrders(t, orders, 1)[0]
	change := func(ctx context.Context) error {
		return orders.Update(ctx, o.ID, func(o *Order) error { o.Amount++; return nil })
	}
	engine.Lose(false, nil)
	if err := change(ctx); err != nil || told > 0 {
		t.Errorf("a lost acknowledgement, which is retried: %v, and the fence was told %d times", err, told)
	}
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	engine.Interrupt(cancel)
	if err := change(short); !kv.IsOutcomeUnknown(err) || told != 1 {
		t.Errorf("an interrupted commit: %v, and the fence was told %d times", err, told)
	}
}

// TestUnderCosts checks that a fence costs a read but no round.
func TestUnderCosts(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	g := claim(t, counter, "me")
	orders := OrderStoreOf(db.Under(g.Fence()), "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))
	must[int](t)(orders.Scan().Count(ctx)) // it is opened
	n, err := counter.Measure(func() error {
		return orders.Create(ctx, orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1}))
	})
	check(t, err)
	if n.Rounds != 1 || n.Gets != 3 {
		t.Errorf("a fenced Create costs %v", n)
	}
}

// TestUnderDoesNotMix checks that a store under a fence cannot slip into a
// transaction without it.
func TestUnderDoesNotMix(t *testing.T) {
	db := open(t, enginetest.Open(t))
	g := claim(t, db.Engine(), "me")
	orders := OrderStoreOf(db, "t")
	o := orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1})
	err := db.Under(g.Fence()).Transact(ctx, func(tx persistable.Tx) error {
		return orders.In(tx).Create(ctx, o)
	})
	if err == nil {
		t.Error("a store without the fence wrote in a fenced transaction")
	}
}

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
				wantError(t, err, leasefdb.ErrLeaseLost)
				wantError(t, err, persistable.ErrFenced, fmt.Sprintf(": Order (%d) is fenced off: ", stalled.ID))
				if n != 1 {
					t.Errorf("%d records, want 1", n)
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
		err := orders.Create(ctx, order(id))
		if !errors.Is(err, persistable.ErrFenced) || !errors.Is(err, leasefdb.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
		wantError(t, orders.Save(ctx, order(id)), persistable.ErrFenced)
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
	wantError(t, orders.Create(ctx, order(tooLate)), persistable.ErrFenced)
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
