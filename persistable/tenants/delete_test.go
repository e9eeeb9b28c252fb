// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func TestDelete(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		other := open(t, db.Engine())
		all := tenants.Of(db, "tenants")
		someOrders(t, db, "kept", 2)
		check(t, all.Delete(ctx, somewhat(t, db, "first"))) // makes the work directories
		before := keys(t, db)
		orders := someOrders(t, db, "gone", 5)
		must[*Order](t)(OrderStoreOf(other, "gone").Get(ctx, orders[0].ID))
		check(t, all.Delete(ctx, "gone"))
		if after := keys(t, db); after != before {
			t.Errorf("%d keys, %d before", after, before)
		}
		wantError(t, second(OrderStoreOf(other, "gone").Get(ctx, orders[0].ID)), persistable.ErrNotFound)
		wantError(t, OrderStoreOf(other, "gone").SaveExisting(ctx, orders[0]), persistable.ErrNotFound)
		wantError(t, all.Delete(ctx, "gone"), tenants.ErrNotFound)
		wantError(t, tenants.Of(db, "no set").Delete(ctx, "gone"), tenants.ErrNotFound)
		check(t, OrderStoreOf(other, "gone").Create(ctx, OrderStoreOf(other, "gone").New(Order{Number: "new", CreatedAt: day0})))
		if n := must[int](t)(OrderStoreOf(db, "gone").Scan().Count(ctx)); n != 1 {
			t.Errorf("the new tenant has %d records", n)
		}
		if n := must[int](t)(OrderStoreOf(db, "kept").Scan().Count(ctx)); n != 2 {
			t.Errorf("the other tenant has %d records", n)
		}
	})
}

func somewhat(t *testing.T, db *persistable.DB, tenant string) string {
	someOrders(t, db, tenant, 1)
	return tenant
}

// A transaction that writes to the tenant and has not committed conflicts with the
// deletion: no key is left where the tenant was.
func TestDeleteDuringATransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.Delete(ctx, somewhat(t, db, "first"))) // makes the work directories
	before := keys(t, db)
	s := OrderStoreOf(db, somewhat(t, db, "a"))
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	check(t, s.In(db.In(tx)).Create(ctx, s.New(Order{Number: "held", CreatedAt: day0})))
	check(t, all.Delete(ctx, "a"))
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("Commit = %v, want a conflict", err)
	}
	if after := keys(t, db); after != before {
		t.Errorf("%d keys, %d before", after, before)
	}
}

// Tenants are deleted while others write: no key is left outside of a directory, and no
// entry without its record.
func TestDeleteWhileWritten(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		tenant := []string{"a", "b"}
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				s := OrderStoreOf(db, tenant[w%2])
				for i := range 20 {
					o := s.New(Order{Number: fmt.Sprint(w, "-", i), Status: Paid, CreatedAt: day0, Amount: 1})
					if err := errors.Join(s.Create(ctx, o), s.Save(ctx, o)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i := range 8 {
			if err := all.Delete(ctx, tenant[i%2]); err != nil && !errors.Is(err, tenants.ErrNotFound) {
				t.Error(err)
			}
		}
		writers.Wait()
		for _, name := range tenant {
			sound(t, OrderStoreOf(db, name).Indexes().Verify)
			if err := all.Delete(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
				t.Error(err)
			}
		}
		check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
			for pair, err := range tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).All(ctx) {
				if err != nil {
					return err
				}
				if strings.Contains(string(pair.Key), "\x02Order") {
					t.Errorf("a key is left: %q", pair.Key)
				}
			}
			return nil
		}))
	})
}

// A tenant of many directories, with partitions in it, goes in several transactions.
func TestDeleteOfManyDirectories(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.Delete(ctx, somewhat(t, db, "first")))
	before := keys(t, db)
	for i := range 120 {
		path := []string{"tenants", "wide", fmt.Sprint(i % 7), fmt.Sprint(i)}
		layers := []directory.Expect{}
		if i%7 == 3 {
			layers = append(layers, directory.ElementAs(2, directory.Partition))
		}
		d := must[*directory.Directory](t)(directory.Root().CreateOrOpen(ctx, db.Engine(), path, layers...))
		key := must[[]byte](t)(d.Prefix())
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { tx.Set(append(key, 1), key); return nil }))
	}
	check(t, all.Delete(ctx, "wide"))
	if after := keys(t, db); after != before {
		t.Errorf("%d keys, %d before", after, before)
	}
	if n := must[int](t)(all.Sweep(ctx)); n != 0 {
		t.Errorf("%d tenants were left", n)
	}
}
