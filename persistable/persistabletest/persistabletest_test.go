// SPDX-License-Identifier: Apache-2.0

package persistabletest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistabletest"
)

// TestOpen: each database is empty, and its IDs are leased, as a program's are.
func TestOpen(t *testing.T) {
	for range 2 {
		db := persistabletest.Open(t)
		orders := bazaar.OrderStoreOf(db, "t")
		o := orders.New(bazaar.Order{Number: "1"})
		if _, leased := db.Leases().LeaseOf("", o.ID); !leased {
			t.Errorf("the ID %d is not leased", o.ID)
		}
		if err := orders.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if n, err := orders.Scan().Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d orders, %v, want 1", n, err)
		}
	}
}

// TestClosed: what Open has opened is closed when the test ends, the DB before its database.
func TestClosed(t *testing.T) {
	var db *persistable.DB
	t.Run("opens", func(t *testing.T) { db = persistabletest.Open(t) })
	if idgen.Installed() {
		t.Error("the DB is open after the end of its test")
	}
	err := db.Engine().ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		_, err := tx.Get([]byte("k")).Get(t.Context())
		return err
	})
	if !errors.Is(err, kv.ErrClosed) {
		t.Errorf("the database is open after the end of its test: %v", err)
	}
}

// TestCountedIDs: two runs make the same IDs, on a hostile engine, too; other generated ids
// are unlike.
func TestCountedIDs(t *testing.T) {
	for _, hostile := range []bool{false, true} {
		orders := bazaar.OrderStoreOf(persistabletest.Open(t, persistabletest.Options{CountedIDs: true, Hostile: hostile}), "t")
		made := orders.New(bazaar.Order{Number: "1"})
		if err := orders.Create(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		late := &bazaar.Order{TenantID: "t", Number: "2"}
		if err := orders.Create(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		if made.ID != 1 || late.ID != 2 {
			t.Errorf("hostile: %v: the IDs are %d and %d, want 1 and 2", hostile, made.ID, late.ID)
		}
	}
}

// TestHostile: transactions run again and again, and a correct program notices nothing.
func TestHostile(t *testing.T) {
	db := persistabletest.Open(t, persistabletest.Options{Hostile: true})
	orders := bazaar.OrderStoreOf(db, "t")
	const n = 10
	runs, reads := 0, 0
	for i := range n {
		o := orders.New(bazaar.Order{Number: fmt.Sprint(i)})
		if err := db.Transact(t.Context(), func(tx persistable.Tx) error {
			runs++
			return orders.In(tx).Create(t.Context(), o)
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.ReadTransact(t.Context(), func(tx persistable.Tx) error {
			reads++ //persistvet:ignore retryeffect it counts the attempts
			_, err := orders.In(tx).Get(t.Context(), o.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if runs == n || reads < 2*n { // a lost acknowledgement of a creation needs no second run
		t.Errorf("%d transactions ran %d times, and as many that read %d times", n, runs, reads)
	}
	if stored, err := orders.Scan().Count(t.Context()); stored != n || err != nil {
		t.Errorf("%d orders, %v, want %d", stored, err, n)
	}
}

// TestSeed: a seed repeats what happens to transactions. Transactions of records are not compared: the first of them
// makes directories, which takes one read more where two draw the same random prefix.
func TestSeed(t *testing.T) {
	runs := func(seed uint64) (all []int) {
		db := persistabletest.Open(t, persistabletest.Options{CountedIDs: true, Hostile: true, Seed: seed})
		for range 20 {
			n := 0
			if err := db.Engine().Transact(t.Context(), func(tx kv.Transaction) error {
				n++ //persistvet:ignore retryeffect it counts the attempts
				tx.Set([]byte("k"), nil)
				_, err := tx.Get([]byte("k")).Get(t.Context())
				return err
			}); err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		return all
	}
	first, again, other := runs(1), runs(1), runs(2)
	if !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("attempts of seed 1: %d, again: %d, of seed 2: %d", first, again, other)
	}
}

// TestBubble opens a database in a bubble: it has the bubble's time, and leaves no goroutine.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := persistabletest.Open(t)
		counters := bazaar.CounterStoreOf(db)
		if err := counters.CreateWithID(t.Context(), 1, &bazaar.Counter{Name: "one"}); err != nil {
			t.Fatal(err)
		}
		err := db.ReadTransact(t.Context(), func(tx persistable.Tx) error {
			for range 2 {
				if _, err := counters.In(tx).ByName(t.Context(), "one"); err != nil {
					return err
				}
				time.Sleep(kv.MaxTransactionAge + time.Second)
			}
			return nil
		})
		if want := "1007"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a transaction of six seconds: %v, want %s", err, want)
		}
	})
}

// fatal is a test that notes why it fails.
type fatal struct {
	testing.TB
	reason string
}

func (f *fatal) Helper() {}

func (f *fatal) Context() context.Context { return context.Background() }

func (f *fatal) Fatal(reason ...any) {
	f.reason = fmt.Sprint(reason...)
	runtime.Goexit()
}

// TestFaultsOfOptions: a test with options that contradict each other fails at once, for all reasons.
func TestFaultsOfOptions(t *testing.T) {
	f := &fatal{TB: t}
	o := persistabletest.Options{CountedIDs: true, Seed: 7, DB: persistable.Options{PageSize: -1, IDs: persistable.IDOptions{Off: true}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		persistabletest.Open(f, o)
		t.Error("Open returned a DB")
	}()
	<-done
	for _, want := range []string{"CountedIDs", "Hostile", "PageSize"} {
		if !strings.Contains(f.reason, want) {
			t.Errorf("the test fails with %q, want %s in it", f.reason, want)
		}
	}
}
