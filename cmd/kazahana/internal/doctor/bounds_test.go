// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// large adds orders with photos of so many bytes. The first id is 5000.
func large(t *testing.T, engine kv.Database, sizes ...int) {
	t.Helper()
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	for i, size := range sizes {
		o := &bazaar.Order{
			TenantID: "tenant-1", Number: fmt.Sprint("X-", i), Country: "JP", CreatedAt: time.Unix(int64(i), 0),
			Tags: []string{"a", "b"}, Photo: bytes.Repeat([]byte{byte(i)}, size),
		}
		check(t, bazaar.OrderStoreOf(db, "tenant-1").CreateWithID(t.Context(), idgen.ID(5000+i), o))
	}
	check(t, db.Close())
}

// sizes returns so many sizes of 100 KB, and the others.
func sizes(n int, others ...int) []int { return append(slices.Repeat([]int{100_000}, n), others...) }

// damaged damages what other packages and passes read.
func damaged(t *testing.T, engine kv.Database) {
	t.Helper()
	names := []string{"orphan entry", "missing entry", "wrong rank", "missing version", "torn chunk", "torn document", "lease without queue", "torn entry of an actor", "key among records"}
	check(t, engine.Transact(t.Context(), func(tx kv.Transaction) error {
		for _, d := range slices.Concat(damages, ownDamages) {
			if slices.Contains(names, d.name) {
				d.make(world{t, tx})
			}
		}
		return nil
	}))
}

// TestBounds: where a transaction can read little, the examination finds and counts the same.
func TestBounds(t *testing.T) {
	engine := prepared(t)
	large(t, engine, sizes(20, 300_000, 1_000_000, 8_900_000)...)
	healthy, want := examine(t, engine, doctor.Options{Exclusive: true})
	if len(healthy) > 0 {
		t.Fatal(healthy)
	}
	for _, hurt := range []bool{false, true} {
		if hurt {
			damaged(t, engine)
			healthy, want = examine(t, engine, doctor.Options{Exclusive: true})
		}
		for _, a := range []allowance{{bytes: 10_000_000}, {bytes: 20_000_000, gets: 25}} {
			a.Database, a.spent = engine, &expense{}
			found, r := examine(t, a, doctor.Options{Exclusive: true})
			if diff := cmp.Diff(want, r) + cmp.Diff(healthy, found); diff != "" || a.spent.failed == 0 {
				t.Errorf("damaged %v, %d bytes, %d gets, %d failures (-want +got):\n%s", hurt, a.bytes, a.gets, a.spent.failed, diff)
			}
		}
	}
}

// TestMemory: however large records are, a transaction reads some MB, or one record.
func TestMemory(t *testing.T) {
	engine := prepared(t)
	large(t, engine, sizes(150)...)
	a := allowance{Database: engine, spent: &expense{}}
	if found, _ := examine(t, a, doctor.Options{Exclusive: true}); len(found) > 0 || a.spent.bytes > 8<<20 {
		t.Errorf("a transaction read %d bytes: %v", a.spent.bytes, found)
	}
}

// TestSlowEngine: batches end after a second, so that none lasts as long as a version.
func TestSlowEngine(t *testing.T) {
	engine := prepared(t)
	large(t, engine, slices.Repeat([]int{10}, 300)...)
	clock := &slowClock{time.Now(), 10 * time.Millisecond}
	a := allowance{Database: engine, clock: clock, spent: &expense{}}
	began := clock.now
	found, r := examine(t, a, doctor.Options{Exclusive: true, Now: func() time.Time { return clock.now }})
	if len(found) > 0 || r.Records < 300 || a.spent.failed > 0 || clock.now.Sub(began) < time.Minute {
		t.Errorf("%d reads failed in %v: %+v, %v", a.spent.failed, clock.now.Sub(began), r, found)
	}
}

// TestNotExamined: a record that cannot be read within a transaction is reported, and what
// refers to it; all else is examined.
func TestNotExamined(t *testing.T) {
	engine := prepared(t)
	large(t, engine, sizes(3, 8_900_000, 10)...)
	damaged(t, engine)
	want, _ := examine(t, engine, doctor.Options{Exclusive: true})
	a := allowance{Database: engine, bytes: 4_000_000, spent: &expense{}}
	found, r := examine(t, a, doctor.Options{Exclusive: true})
	lost := 0
	found = slices.DeleteFunc(found, func(f doctor.Finding) bool {
		if f.Code != doctor.NotExamined {
			return false
		}
		lost++
		return (strings.Contains(f.Place, "5003") || strings.Contains(f.Place, "X-3")) && f.Type == "Order" && f.Remedy != ""
	})
	if diff := cmp.Diff(want, found); diff != "" || lost < 2 || int64(lost) != r.NotExamined {
		t.Errorf("%d are not examined, %+v (-want +got):\n%s", lost, r, diff)
	}
}

// TestHostileEngine: an engine that repeats transactions, delays reads and cuts ranges
// changes nothing.
func TestHostileEngine(t *testing.T) {
	engine := prepared(t)
	_, want := examine(t, engine, doctor.Options{Exclusive: true})
	if found, r := examine(t, faults.HostileT(t, engine), doctor.Options{Exclusive: true}); len(found) > 0 || r != want {
		t.Errorf("%+v, want %+v: %v", r, want, found)
	}
}
