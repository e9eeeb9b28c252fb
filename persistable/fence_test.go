// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

func claim(t testing.TB, engine kv.Database, owner string) leasefdb.Grant {
	t.Helper()
	names := must[*leasefdb.Names](t)(leasefdb.NewNames(engine, leasefdb.NameOptions{}))
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
		"Indexes().Rebuild": func(w writer) error { return w.orders.Indexes().Rebuild(ctx, "Order_Number_unique") },
		"RemoveDirectory":   func(w writer) error { return w.db.RemoveDirectory(ctx, "tenants", "t") },
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
				e := wantAs[*persistable.FenceError](t, err)
				wantError(t, e, leasefdb.ErrLeaseLost)
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
