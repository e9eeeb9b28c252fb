// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	v1 "github.com/kazahana-db/kazahana/examples/shop/v1"
	v2 "github.com/kazahana-db/kazahana/examples/shop/v2"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	tenancy "github.com/kazahana-db/kazahana/persistable/tenants"
)

// shops writes orders of the first version in shops a to c, customers in b, and an order of another type.
func shops(t *testing.T, engine kv.Database) *persistable.DB {
	t.Helper()
	db := open(t, engine)
	for _, shop := range []string{"a", "b", "c"} {
		orders := v1.OrderStoreOf(db, shop)
		for n := range 5 {
			check(t, orders.Create(ctx, orders.New(v1.Order{Number: fmt.Sprint(n), Total: int64(n)})))
		}
	}
	customers := v1.CustomerStoreOf(db, "b")
	check(t, customers.Create(ctx, customers.New(v1.Customer{})))
	check(t, OrderStoreOf(db, "x").Create(ctx, NewOrder(Order{TenantID: "x"}))) // of the same name, in another directory
	return db
}

const newIndex = "Order_Currency_Total"

// migrated shows stores by their paths and what was built there.
func migrated(all []persistable.MigratedStore) (texts []string) {
	for _, s := range all {
		texts = append(texts, fmt.Sprint(s.Path, s.Type, s.Indexes))
	}
	return texts
}

func TestMigrate(t *testing.T) {
	engine := enginetest.Open(t)
	db := shops(t, engine)
	var steps []string
	o := persistable.MigrateOptions{DryRun: true, Progress: func(next persistable.MigratedStore, done int) {
		steps = append(steps, fmt.Sprint(next.Path, done))
	}}
	orders := v2.OrderStoreOf(nil, "") // the type alone: no database, no argument
	want := []string{fmt.Sprintf("[shops a orders]Order[%s]", newIndex), fmt.Sprintf("[shops b orders]Order[%s]", newIndex), fmt.Sprintf("[shops c orders]Order[%s]", newIndex)}
	for _, dry := range []bool{true, true, false} {
		o.DryRun = dry
		steps = nil
		m, err := persistable.Migrate(ctx, db, o, orders)
		check(t, err)
		if diff := gocmp.Diff(want, migrated(m.Changed)); diff != "" || m.Stores != 3 {
			t.Errorf("dry %v: %d stores (-want +got):\n%s", dry, m.Stores, diff)
		}
		if got := fmt.Sprint(m.Others); got != `[the store of Customer in the directory "shops"/"b"/"customers" the store of Order in the directory "tenants"/"x"/"orders"]` {
			t.Errorf("the others are %s", got)
		}
		if got := fmt.Sprint(steps); got != "[[shops a orders] 0 [shops b orders] 1 [shops c orders] 2]" {
			t.Errorf("the steps are %s", got)
		}
	}
	for _, shop := range []string{"a", "b", "c"} {
		s := v2.OrderStoreOf(db, shop)
		if n := must[int](t)(s.ByCurrencyTotal("EUR").Count(ctx)); n != 5 {
			t.Errorf("shop %s: %d orders by the new index", shop, n)
		}
		sound(t, s.Indexes().Verify)
	}
	m, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{}, orders, v1.CustomerStoreOf(db, ""), OrderStoreOf(nil, ""))
	check(t, err)
	if len(m.Changed) > 0 || len(m.Others) > 0 || m.Stores != 5 {
		t.Errorf("after it: %+v", m)
	}
}

// TestMigrateGoesOn: stores that cannot be migrated stop no other one, and each is named with its reason.
func TestMigrateGoesOn(t *testing.T) {
	db := shops(t, enginetest.Open(t))
	_, err := tenancy.Of(db, "shops").Lock(ctx, "a", "a test")
	check(t, err)
	m, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{}, v2.OrderStoreOf(db, ""))
	wantError(t, err, persistable.ErrLocked, `Migrate: the store of Order in the directory "shops"/"a"/"orders": `)
	if len(m.Changed) != 3 || !errors.Is(m.Changed[0].Err, persistable.ErrLocked) || m.Changed[1].Err != nil || m.Changed[2].Err != nil {
		t.Errorf("%+v", m.Changed)
	}
	if n := must[int](t)(v2.OrderStoreOf(db, "c").ByCurrencyTotal("EUR").Count(ctx)); n != 5 {
		t.Errorf("in the last shop the index has %d orders", n)
	}
}

// TestMigrateTogether: several processes migrate at once, on an engine that loses acknowledgements, while others write.
func TestMigrateTogether(t *testing.T) {
	engine := enginetest.Open(t)
	db := shops(t, engine)
	hostile := faults.Hostile(engine, faults.Options{Seed: 1, MaxDelay: -1})
	var group sync.WaitGroup
	for range 3 {
		process := open(t, hostile)
		group.Go(func() {
			if _, err := persistable.Migrate(ctx, process, persistable.MigrateOptions{}, v2.OrderStoreOf(nil, "")); err != nil {
				t.Error(err)
			}
		})
	}
	old := v1.OrderStoreOf(db, "b")
	for n := range 20 {
		check(t, old.Create(ctx, old.New(v1.Order{Number: fmt.Sprint("new", n), Total: int64(n)})))
	}
	group.Wait()
	for shop, want := range map[string]int{"a": 5, "b": 25, "c": 5} {
		s := v2.OrderStoreOf(db, shop)
		if n := must[int](t)(s.ByCurrencyTotal("EUR").Count(ctx)); n != want {
			t.Errorf("shop %s: %d orders by the new index, want %d", shop, n, want)
		}
		sound(t, s.Indexes().Verify)
	}
}

func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want %q in it", err, text)
	}
}

// TestMigrateRefusals: what cannot be migrated is refused before anything is read.
func TestMigrateRefusals(t *testing.T) {
	db := shops(t, enginetest.Open(t))
	_, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{})
	refused(t, err, "Migrate got no types")
	_, err = persistable.Migrate(ctx, db, persistable.MigrateOptions{}, v2.OrderStoreOf(db, ""), &v2.OrderStore{})
	refused(t, err, "type 2 of 2 is the zero store")
	_, err = persistable.Migrate(ctx, db, persistable.MigrateOptions{Build: persistable.BuildOptions{Workers: -1}}, v2.OrderStoreOf(db, ""))
	refused(t, err, "BuildOptions.Workers is -1")
	_, err = persistable.Migrate(ctx, db, persistable.MigrateOptions{Path: []string{"none"}}, v2.OrderStoreOf(db, ""))
	wantError(t, err, persistable.ErrNotFound, "")
	ended, cancel := context.WithCancel(ctx)
	m, err := persistable.Migrate(ended, db, persistable.MigrateOptions{DryRun: true, Progress: func(persistable.MigratedStore, int) { cancel() }}, v2.OrderStoreOf(db, ""))
	if !errors.Is(err, context.Canceled) || m.Stores != 1 || slices.ContainsFunc(m.Changed, func(s persistable.MigratedStore) bool { return s.Err != nil }) {
		t.Errorf("a context that ended: %+v, %v", m, err)
	}
}
