// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
	tenancy "github.com/kazahana-db/kazahana/persistable/tenants"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted/before"
)

//go:generate go tool persistgen ./testdata/deleted/before ./testdata/deleted

// TestDeletedIsAbsent: each verb of a store takes a deleted record for none, and the store of WithDeleted has it.
func TestDeletedIsAbsent(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := deleted.OrderStoreOf(db)
	all := orders.WithDeleted()
	o := &deleted.Order{ID: 1, Number: "A", City: "Oulu", Amount: 5, Text: "red paint"}
	check(t, orders.Create(ctx, o))
	begun := time.Now()
	check(t, orders.Delete(ctx, 1))

	stored := must[*deleted.Order](t)(all.Get(ctx, 1))
	if at := stored.DeletedAt; at.Before(begun.Round(0)) || at.After(time.Now()) || at.Location() != time.UTC {
		t.Errorf("it was deleted at %v", at)
	}
	_, err := orders.Get(ctx, 1)
	wantError(t, err, persistable.ErrNotFound)
	_, err = orders.ByNumber(ctx, "A")
	wantError(t, err, persistable.ErrNotFound)
	_, err = orders.ByCitySerial(ctx, "Oulu", 0)
	wantError(t, err, persistable.ErrNotFound)
	if must[bool](t)(orders.Exists(ctx, 1)) || !must[bool](t)(all.Exists(ctx, 1)) {
		t.Error("Exists is wrong")
	}
	wantError(t, orders.Update(ctx, 1, func(*deleted.Order) error { return nil }), persistable.ErrNotFound)
	wantError(t, orders.SaveExisting(ctx, o), persistable.ErrNotFound)
	wantError(t, orders.DeleteIfUnchanged(ctx, o), persistable.ErrNotFound)
	check(t, orders.Delete(ctx, 1))
	if again := must[*deleted.Order](t)(all.Get(ctx, 1)); !again.DeletedAt.Equal(stored.DeletedAt) {
		t.Error("a second deletion has changed the time")
	}
	for _, write := range []func() error{
		func() error { return orders.Save(ctx, o) },
		func() error { return orders.Create(ctx, o) },
		func() error { return orders.CreateWithID(ctx, 1, &deleted.Order{Number: "B"}) },
		func() error { _, _, err := orders.GetOrCreate(ctx, o); return err },
		func() error { return orders.SaveMany(ctx, []*deleted.Order{o}, persistable.BatchOptions{}) },
	} {
		wantError(t, write(), persistable.ErrDeleted, "set DeletedAt to its zero value")
	}
	wantError(t, orders.Create(ctx, o), persistable.ErrExists)
	_, _, err = orders.GetOrCreate(ctx, &deleted.Order{ID: 3, Number: "C", City: "Oulu"}) // its serial number is that of the deleted one
	wantAs[*persistable.UniqueError](t, err)
	check(t, orders.Create(ctx, &deleted.Order{ID: 2, Number: "A", City: "Turku"}))

	wantAs[*persistable.UniqueError](t, all.Update(ctx, 1, restored)) // the number is that of another one
	check(t, orders.Delete(ctx, 2))
	check(t, all.Update(ctx, 1, restored))
	if o := must[*deleted.Order](t)(orders.ByNumber(ctx, "A")); o.ID != 1 || o.Text != "red paint" {
		t.Errorf("the restored one is %+v", o)
	}
	check(t, all.Delete(ctx, 2))
	if n := must[int](t)(all.Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records are left", n)
	}
	sound(t, orders.Indexes().Verify)
}

func restored(o *deleted.Order) error {
	o.DeletedAt = time.Time{}
	return nil
}

// TestDeletedByField: only Delete deletes, because it checks what a write of the field would not.
func TestDeletedByField(t *testing.T) {
	orders := deleted.OrderStoreOf(open(t, enginetest.Open(t)))
	all := orders.WithDeleted()
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A"}))
	marked := func(o *deleted.Order) error { o.DeletedAt = day0; return nil }
	for _, write := range []func() error{
		func() error { return orders.Create(ctx, &deleted.Order{ID: 2, Number: "B", DeletedAt: day0}) },
		func() error { return orders.Save(ctx, &deleted.Order{ID: 1, Number: "A", DeletedAt: day0}) },
		func() error { return orders.Update(ctx, 1, marked) },
		func() error { return all.Update(ctx, 1, marked) },
		func() error { return all.Save(ctx, &deleted.Order{ID: 1, Number: "A", DeletedAt: day0}) },
	} {
		if e := wantAs[*persistable.FieldError](t, write()); e.Field != "DeletedAt" {
			t.Error(e)
		}
	}
	check(t, all.Create(ctx, &deleted.Order{ID: 2, Number: "A", Serial: 2, DeletedAt: day0})) // as an import does
	check(t, all.Update(ctx, 2, func(o *deleted.Order) error { o.Text, o.DeletedAt = "late", day1; return nil }))
	if o := must[*deleted.Order](t)(all.Get(ctx, 2)); o.Text != "late" || !o.DeletedAt.Equal(day1) {
		t.Errorf("%+v", o)
	}
	sound(t, orders.Indexes().Verify)
}

// TestDeletedAnswers: an index whose entries are not just those of a store's records says so.
func TestDeletedAnswers(t *testing.T) {
	orders := deleted.OrderStoreOf(open(t, enginetest.Open(t)))
	all := orders.WithDeleted()
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A", City: "Oulu", Amount: 7}))
	for name, ask := range map[string]func() error{
		"Order_ever":  func() error { _, err := orders.CountByCity(ctx, "Oulu"); return err },
		"Order_total": func() error { _, err := orders.SumAmount(ctx); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "the index "+name+" has deleted records, too, which the store leaves out: ask the store of WithDeleted") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, ask := range []func() error{
		func() error { _, err := all.CountAll(ctx); return err },
		func() error { return firstError(all.CountsByStatus(ctx)) },
		func() error { _, err := all.SumAmountByCity(ctx, "Oulu"); return err },
		func() error { _, _, err := all.MaxAmountByStatus(ctx, 0); return err },
		func() error { _, err := all.RankOfAmountByCity(ctx, "Oulu", 0); return err },
		func() error { _, err := all.NthByAmountByCity(ctx, "Oulu", 0); return err },
		func() error { _, err := all.TopByAmountByCity(ctx, "Oulu", 1); return err },
		func() error { _, err := all.ByNumber(ctx, "A"); return err },
		func() error { _, err := all.ByCityAmount("Oulu").Slice(ctx); return err },
		func() error { _, err := all.ByTags("a").Count(ctx); return err },
		func() error { _, err := all.SearchText("red", persistable.AllWords).Slice(ctx); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "leaves deleted records out") || !strings.Contains(err.Error(), "withdeleted") {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, mixed := range [][2]*deleted.OrderStore{{orders, all}, {all, orders}} {
		if _, err := mixed[0].DeleteWhere(ctx, mixed[1].Scan(), persistable.BatchOptions{}); err == nil || !strings.Contains(err.Error(), "the query is of another store") {
			t.Error(err)
		}
	}
}

func firstError[G any](groups iter.Seq2[persistable.GroupCount[G], error]) error {
	for _, err := range groups {
		return err
	}
	return nil
}

// TestDeletedReferences: a deleted record counts as none for those that refer to it, and does not
// refer to anything itself.
func TestDeletedReferences(t *testing.T) {
	db := open(t, enginetest.Open(t))
	customers, orders, lines := deleted.CustomerStoreOf(db), deleted.OrderStoreOf(db), deleted.LineStoreOf(db)
	check(t, customers.Create(ctx, &deleted.Customer{ID: 1, Name: "Ada"}))
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A", CustomerID: 1}))
	check(t, lines.Create(ctx, &deleted.Line{ID: 1, OrderID: 1}))
	wantError(t, customers.Delete(ctx, 1), persistable.ErrReferred, "the Order (1) refers to it")
	wantError(t, customers.WithDeleted().Delete(ctx, 1), persistable.ErrReferred)
	check(t, orders.Delete(ctx, 1))
	if must[bool](t)(lines.Exists(ctx, 1)) {
		t.Error("the line was not deleted with its order")
	}
	check(t, customers.Delete(ctx, 1))                                                                             // nothing but a deleted order refers to it
	check(t, orders.WithDeleted().Update(ctx, 1, func(o *deleted.Order) error { o.Text = "changed"; return nil })) // it stays deleted
	wantError(t, orders.Create(ctx, &deleted.Order{ID: 2, Number: "B", Serial: 2, CustomerID: 1}), persistable.ErrDangling)
	wantError(t, orders.WithDeleted().Update(ctx, 1, restored), persistable.ErrDangling, "the Customer (1)")
	wantError(t, orders.WithDeleted().Save(ctx, &deleted.Order{ID: 1, Number: "A", CustomerID: 1}), persistable.ErrDangling)
	list := []*deleted.Order{must[*deleted.Order](t)(orders.WithDeleted().Get(ctx, 1))}
	if found := must[map[int64]*deleted.Customer](t)(orders.Customers(ctx, list)); len(found) != 0 {
		t.Errorf("the deleted customer is loaded: %v", found)
	}
	bin := must[[]*deleted.Customer](t)(customers.WithDeleted().OrderedByDeletedAtWhereBin().Slice(ctx))
	if len(bin) != 1 || bin[0].DeletedAt == nil {
		t.Errorf("in the bin are %v", bin)
	}
	check(t, customers.WithDeleted().Update(ctx, 1, func(c *deleted.Customer) error { c.DeletedAt = nil; return nil }))
	check(t, orders.WithDeleted().Update(ctx, 1, restored))
	wantError(t, customers.Delete(ctx, 1), persistable.ErrReferred)
	check(t, orders.WithDeleted().Update(ctx, 1, func(o *deleted.Order) error { o.Text = deleted.Kept; return nil }))
	wantError(t, orders.Delete(ctx, 1), deleted.ErrKept)
	wantError(t, persistable.DeleteMany(ctx, &orders.Store, []int64{1}, persistable.BatchOptions{}), deleted.ErrKept)
	check(t, orders.WithDeleted().Create(ctx, &deleted.Order{ID: 2, Number: "B", Serial: 2, Text: deleted.Kept, DeletedAt: day0}))
	check(t, orders.Delete(ctx, 2)) // there is nothing to ask
	wantError(t, orders.WithDeleted().Delete(ctx, 2), deleted.ErrKept)
	sound(t, customers.Indexes().Verify)
	sound(t, orders.Indexes().Verify)
}

// TestDeletedInAFullTenant: a quota stops no deletion, although the record grows by the time.
func TestDeletedInAFullTenant(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := deleted.OrderStoreOf(db)
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A"}))
	check(t, tenancy.Of(db).SetQuota(ctx, "Order", tenancy.Quota{Bytes: 1}))
	wantError(t, orders.Update(ctx, 1, func(o *deleted.Order) error { o.Text = "long"; return nil }), persistable.ErrQuota)
	check(t, orders.Delete(ctx, 1))
	check(t, orders.WithDeleted().Delete(ctx, 1))
}

// TestDeletedChanges: Watch and the feed of a store show a deletion, and the record again when
// it is restored.
func TestDeletedChanges(t *testing.T) {
	orders := deleted.OrderStoreOf(open(t, enginetest.Open(t)))
	check(t, orders.Create(ctx, &deleted.Order{ID: 1, Number: "A"}))
	next, stop := iter.Pull2(orders.Watch(ctx, 1))
	defer stop()
	want := func(there bool) {
		t.Helper()
		if v, err, _ := next(); err != nil || (v != nil) != there {
			t.Fatalf("Watch yields %v, %v", v, err)
		}
		for c, err := range orders.Feed().Changes(ctx, persistable.Version{}) {
			if err != nil || c.Deleted == there || (c.Record != nil) != there || c.ID != 1 {
				t.Errorf("the feed yields %+v, %v", c, err)
			}
		}
		for c, err := range orders.WithDeleted().Feed().Changes(ctx, persistable.Version{}) {
			if err != nil || c.Deleted || c.Record == nil || c.Record.Version != c.Version {
				t.Errorf("the feed of all yields %+v, %v", c, err)
			}
		}
	}
	want(true)
	check(t, orders.Delete(ctx, 1))
	want(false)
	check(t, orders.WithDeleted().Update(ctx, 1, restored))
	want(true)
}

// TestDeletedBesideAnOlderProgram: a program from before the option maintains its own indexes, in which the
// deleted records are, and the newer one those; each finds its own right.
func TestDeletedBesideAnOlderProgram(t *testing.T) {
	db := open(t, enginetest.Open(t))
	older, orders := before.OrderStoreOf(db), deleted.OrderStoreOf(db)
	check(t, older.Create(ctx, &before.Order{ID: 1, Number: "A", City: "Oulu", Amount: 1}))
	check(t, orders.Indexes().Build(ctx, persistable.BuildOptions{}))
	check(t, orders.Create(ctx, &deleted.Order{ID: 2, Number: "B", Serial: 2, City: "Oulu", Amount: 2}))
	check(t, orders.Create(ctx, &deleted.Order{ID: 3, Number: "C", Serial: 3, City: "Oulu", Amount: 3}))
	check(t, orders.Delete(ctx, 2))
	check(t, older.Update(ctx, 2, func(o *before.Order) error { o.Amount = 20; return nil }))
	check(t, older.Update(ctx, 3, func(o *before.Order) error { o.Amount = 30; return nil }))
	if n, m := must[int64](t)(older.SumAmountByCity(ctx, "Oulu")), must[int64](t)(orders.SumAmountByCity(ctx, "Oulu")); n != 51 || m != 31 {
		t.Errorf("the sums are %d and %d", n, m)
	}
	if n, m := must[int64](t)(older.CountAll(ctx)), must[int64](t)(orders.CountAll(ctx)); n != 3 || m != 2 {
		t.Errorf("the counts are %d and %d", n, m)
	}
	if o := must[*deleted.Order](t)(orders.WithDeleted().Get(ctx, 2)); o.DeletedAt.IsZero() || o.Amount != 20 {
		t.Errorf("the older program has not kept the deletion: %+v", o)
	}
	check(t, older.Delete(ctx, 2)) // for good
	check(t, older.Delete(ctx, 3))
	wantError(t, orders.WithDeleted().Update(ctx, 2, restored), persistable.ErrNotFound)
	sound(t, orders.Indexes().Verify)
	sound(t, older.Indexes().Verify)
}

// TestDeletedAfterALostAcknowledgement: a deletion whose commit was not acknowledged is one deletion.
func TestDeletedAfterALostAcknowledgement(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	orders := deleted.OrderStoreOf(open(t, engine))
	var list []*deleted.Order
	for i := range int64(6) {
		list = append(list, &deleted.Order{ID: i + 1, Number: fmt.Sprint(i), Serial: i, City: "Oulu"})
	}
	check(t, orders.CreateMany(ctx, list, persistable.BatchOptions{}))
	engine.begin(nil, fates(lost))
	check(t, orders.Delete(ctx, 1))
	engine.begin(nil, fates(lost))
	o := must[*deleted.Order](t)(orders.Get(ctx, 2))
	check(t, orders.DeleteIfUnchanged(ctx, o))
	engine.begin(nil, fates(lost))
	if n := must[int](t)(orders.DeleteWhere(ctx, orders.OrderedByCityAmount().Limit(3).Query(), persistable.BatchOptions{})); n != 3 {
		t.Errorf("%d are deleted", n)
	}
	engine.begin(nil, nil)
	if n := must[int64](t)(orders.CountAll(ctx)); n != 1 {
		t.Errorf("%d are left", n)
	}
	if n := must[int](t)(orders.WithDeleted().Scan().Count(ctx)); n != 6 {
		t.Errorf("%d are there", n)
	}
	sound(t, orders.Indexes().Verify)
}

// TestDeletedConcurrently deletes, restores and changes the same records at once.
func TestDeletedConcurrently(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	orders := deleted.OrderStoreOf(open(t, enginetest.Open(t)))
	const records, workers, turns = 4, 6, 25
	for i := range int64(records) {
		check(t, orders.Create(ctx, &deleted.Order{ID: i + 1, Number: fmt.Sprint(i), City: "Oulu", Serial: i, Amount: 1}))
	}
	var done sync.WaitGroup
	var added atomic.Int64
	for range workers {
		choices := rand.New(rand.NewPCG(random.Uint64(), 0))
		done.Go(func() {
			for range turns {
				id := choices.Int64N(records) + 1
				var err error
				switch choices.IntN(3) {
				case 0:
					err = orders.Delete(ctx, id)
				case 1:
					err = orders.WithDeleted().Update(ctx, id, restored)
				default:
					err = orders.Update(ctx, id, func(o *deleted.Order) error { o.Amount++; return nil })
					if err == nil {
						added.Add(1)
					}
				}
				if err != nil && !errors.Is(err, persistable.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if total := must[int64](t)(orders.WithDeleted().SumAmount(ctx)); total != records+added.Load() {
		t.Errorf("the sum is %d after %d additions", total, added.Load())
	}
	sound(t, orders.Indexes().Verify)
}
