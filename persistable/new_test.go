// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// wantPanic checks that fn panics with a text that has all words.
func wantPanic(t *testing.T, fn func(), words ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		text := fmt.Sprint(recover())
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("the panic is %q, want %q in it", text, word)
			}
		}
	}()
	fn()
}

// needNoGenerator checks that no earlier test left a DB open.
func needNoGenerator(t *testing.T) {
	t.Helper()
	if idgen.Installed() {
		t.Fatal("a generator is installed: a test did not close its DB")
	}
}

func TestNewRefusesAnID(t *testing.T) {
	orders := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	wantPanic(t, func() { NewOrder(Order{ID: 7}) }, "persistable_test.Order", "id already: 7", "leave the id out", "CreateWithID")
	wantPanic(t, func() { orders.New(Order{ID: 7}) }, "persistable_test.Order", "id already: 7")
	wantPanic(t, func() { NewArticle(Article{ID: "x"}) }, "persistable_test.Article", "id already: x")
}

func TestNewCopiesItsLiteral(t *testing.T) {
	db := open(t, enginetest.Open(t))
	literal := Order{TenantID: "t", Number: "1", Status: Paid, CreatedAt: day0, Amount: 3}
	o := NewOrder(literal)
	if want := (Order{ID: o.ID, TenantID: "t", Number: "1", Status: Paid, CreatedAt: day0, Amount: 3}); *o != want || o.ID == 0 {
		t.Errorf("NewOrder gave %+v", *o)
	}
	if literal.ID != 0 {
		t.Error("NewOrder changed the literal")
	}
	if _, leased := db.Leases().LeaseOf("", o.ID); !leased {
		t.Errorf("the id %d is not leased from the open DB", o.ID)
	}
}

func TestStoreNewFillsAndRefuses(t *testing.T) {
	orders := OrderStoreOf(open(t, enginetest.Open(t)), "tenant-1")
	for _, literal := range []Order{{Number: "1"}, {Number: "2", TenantID: "tenant-1"}} {
		o := orders.New(literal)
		if o.TenantID != "tenant-1" || o.Number != literal.Number || o.ID == 0 {
			t.Errorf("New gave %+v", *o)
		}
		check(t, orders.Create(ctx, o))
	}
	wantPanic(t, func() { orders.New(Order{TenantID: "tenant-2"}) },
		"persistable_test.Order", `TenantID "tenant-2"`, `the store's is "tenant-1"`, "leave TenantID out", `use the store of "tenant-2"`)
}

// TestTryNew: a literal from outside with an id, or of another tenant, is an error where New
// panics, and others are what New makes of them.
func TestTryNew(t *testing.T) {
	orders := OrderStoreOf(open(t, enginetest.Open(t)), "tenant-1")
	for _, literal := range []Order{{Number: "1"}, {Number: "2", TenantID: "tenant-1"}} {
		o := must[*Order](t)(orders.TryNew(literal))
		if o.TenantID != "tenant-1" || o.Number != literal.Number || o.ID == 0 {
			t.Errorf("TryNew gave %+v", *o)
		}
		check(t, orders.Create(ctx, o))
	}
	o, err := orders.TryNew(Order{ID: 7})
	if e := wantAs[*persistable.FieldError](t, err); o != nil || e.Type != "Order" || e.Field != "ID" || !strings.Contains(e.Error(), "an id already: 7") {
		t.Errorf("an id: %v, %v", o, err)
	}
	o, err = orders.TryNew(Order{TenantID: "tenant-2"})
	e := wantAs[*persistable.DirectoryError](t, err)
	if o != nil || e.Type != "Order" || e.Field != "TenantID" || !slices.Equal(e.Path, orders.Path()) || !strings.Contains(e.Error(), `use the store of "tenant-2"`) {
		t.Errorf("another tenant: %v, %#v", o, err)
	}
	o, err = OrderStoreOf(open(t, enginetest.Open(t)), "").TryNew(Order{Number: "3"})
	if err != nil || o.TenantID != "" {
		t.Errorf("a store that cannot be used: %v, %v", o, err)
	}
}

// TestNewBeforeOpen checks that no record gets an id that is unique only by
// odds: the id stays zero until Create makes one that is leased.
func TestNewBeforeOpen(t *testing.T) {
	needNoGenerator(t)
	early := NewOrder(Order{TenantID: "t", Number: "early"})
	if early.ID != 0 {
		t.Fatalf("before Open the constructor made the id %d", early.ID)
	}
	if a := NewArticle(Article{Section: "s"}); a.ID == "" {
		t.Error("before Open the constructor made no ULID: those need no lease")
	}
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	err := db.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Create(ctx, early) })
	wantError(t, err, persistable.ErrNoID)
	check(t, orders.Create(ctx, early))
	late := NewOrder(Order{TenantID: "t", Number: "late"})
	for _, o := range []*Order{early, late} {
		if _, leased := db.Leases().LeaseOf("", o.ID); !leased || o.ID.IsFallback() {
			t.Errorf("%s: the id %d is not leased from the DB", o.Number, o.ID)
		}
	}
}

// TestNoIDAfterClose checks that a closed DB makes no id without a lease, in its
// constructors or in Create.
func TestNoIDAfterClose(t *testing.T) {
	needNoGenerator(t)
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "1"})))
	check(t, db.Close())
	o := orders.New(Order{Number: "2"})
	if o.ID != 0 {
		t.Errorf("after Close the constructor made the id %d", o.ID)
	}
	err := orders.Create(ctx, o)
	if wantError(t, err, persistable.ErrNoID); !errors.Is(err, idgen.ErrClosed) || o.ID != 0 {
		t.Errorf("Create after Close: %v, and the id %d", err, o.ID)
	}
	check(t, orders.CreateWithID(ctx, 9, o))
}

// TestStandaloneByChoice checks that a program may have ids that are unique by
// odds, if it says so.
func TestStandaloneByChoice(t *testing.T) {
	needNoGenerator(t)
	idgen.SetDefault(idgen.Default())
	defer idgen.SetDefault(nil)
	if o := NewOrder(Order{Number: "1"}); o.ID == 0 {
		t.Error("the constructor made no id with the generator that the program chose")
	}
}

// TestLeaseAfterAnOutage: a DB that had no machine id for long creates records again soon
// after it can have one.
func TestLeaseAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour)))
		engine := enginetest.InProcess(t)
		other := must[*leasefdb.Provider](t)(leasefdb.New(engine, leasefdb.Options{Lease: four}))
		l := must[[]idgen.Lease](t)(other.Acquire(ctx, idgen.AcquireRequest{Throughput: 1024}))
		o := fencedOptions(false)
		o.IDs.Client.Logger = slog.New(slog.DiscardHandler)
		db := openWith(t, engine, o)
		create := func() error { return OrderStoreOf(db, "t").Create(ctx, &Order{TenantID: "t", Number: "1"}) }
		for range 9 * 60 {
			wantError(t, create(), persistable.ErrNoID)
			time.Sleep(time.Second)
		}
		for _, l := range l {
			check(t, other.Release(ctx, l.Release("", l.Created, time.Now())))
		}
		free := time.Now()
		for create() != nil {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(free); took > 11*time.Second {
			t.Errorf("the first record was created %v after a machine id was free", took)
		}
		check(t, db.Close())
	})
}
