// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestGetOrCreate finds records by id and by unique values, and creates them.
func TestGetOrCreate(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
		get := func(o *Order, wantCreated bool) *Order {
			t.Helper()
			got, created, err := s.GetOrCreate(ctx, o)
			check(t, err)
			if created != wantCreated || created != (got == o) {
				t.Errorf("created: %t, want %t", created, wantCreated)
			}
			return got
		}
		first := get(&Order{TenantID: "t", Number: "1", Amount: 1}, true)
		if first.ID == 0 {
			t.Error("the created record has no id")
		}
		again := &Order{TenantID: "t", Number: "1", Amount: 2}
		if got := get(again, false); got.ID != first.ID || got.Amount != 1 {
			t.Errorf("by its number: %+v", got)
		}
		if again.ID != 0 {
			t.Errorf("the record that was not created has the id %d", again.ID)
		}
		if got := get(&Order{ID: first.ID, TenantID: "t", Number: "other"}, false); got.Number != "1" {
			t.Errorf("by its id: %+v", got)
		}
		get(&Order{ID: 7, TenantID: "t", Number: "7"}, true)
		if got := get(&Order{ID: 8, TenantID: "t", Number: "7"}, false); got.ID != 7 {
			t.Errorf("by its number, with another id: %+v", got)
		}

		for i, isbn := range []string{"a", "b"} {
			_, created, err := articles.GetOrCreate(ctx, &Article{Section: "s", Slug: isbn, ISBN: &isbn, Body: make([]byte, i*250_000)})
			if err != nil || !created {
				t.Errorf("article %s: created %t, %v", isbn, created, err)
			}
		}
		big, created, err := articles.GetOrCreate(ctx, &Article{Section: "s", Slug: "new", ISBN: ptr("b")})
		if err != nil || created || big.Slug != "b" || len(big.Body) != 250_000 {
			t.Errorf("by its ISBN: created %t, %v", created, err)
		}
		_, _, err = articles.GetOrCreate(ctx, &Article{Section: "s", Slug: "a", ISBN: ptr("b")})
		wantAs[*persistable.UniqueError](t, err) // of two records
		sound(t, s.Indexes().Verify)
		sound(t, articles.Indexes().Verify)
	})
}

// TestGetOrCreateRefuses what cannot be looked for, and what Create refuses.
func TestGetOrCreateRefuses(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	_, _, err := s.GetOrCreate(ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("nil: %v", err)
	}
	_, _, err = s.GetOrCreate(ctx, &Order{TenantID: "u", Number: "1"})
	wantAs[*persistable.DirectoryError](t, err)
	_, _, err = ArtStoreOf(db).GetOrCreate(ctx, &Art{Name: "no id"})
	wantError(t, err, persistable.ErrNoID)
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		_, _, err := s.In(tx).GetOrCreate(ctx, &Order{TenantID: "t", Number: "1"})
		wantError(t, err, persistable.ErrNoID)
		return nil
	}))
	setEntries(t, func(*Order) bool { return false }) // as with nulls
	o := &Order{TenantID: "t", Number: "1"}
	_, _, err = s.GetOrCreate(ctx, o)
	wantError(t, err, persistable.ErrNoID)
	if !strings.Contains(err.Error(), "nothing to look for") {
		t.Errorf("without a unique value: %v", err)
	}
	if o.ID != 0 {
		t.Errorf("the refused record has the id %d: another call would create it", o.ID)
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 0 {
		t.Errorf("%d records were created", n)
	}
}

// setEntries leaves orders that do not fit out of the unique index, for the time of
// the test.
func setEntries(t *testing.T, fits func(*Order) bool) {
	entries := orderSchema.Entries
	orderSchema.Entries = func(i int, e *index.Entries, v any) {
		if i != 0 || fits(v.(*Order)) {
			entries(i, e, v)
		}
	}
	t.Cleanup(func() { orderSchema.Entries = entries })
}

// TestGetOrCreateWhileBuilding looks for a record by an index that is not complete:
// it is refused, not created twice.
func TestGetOrCreateWhileBuilding(t *testing.T) {
	db := open(t, enginetest.Open(t))
	check(t, version(db, sectionSlug, sectionPublished).Create(ctx, &Article{ID: "1", Section: "s", Slug: "a", ISBN: ptr("1")}))
	s := ArticleStoreOf(db)
	_, _, err := s.GetOrCreate(ctx, &Article{Section: "s", Slug: "b", ISBN: ptr("1")})
	wantError(t, err, persistable.ErrNotBuilt)
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	got, created, err := s.GetOrCreate(ctx, &Article{Section: "s", Slug: "b", ISBN: ptr("1")})
	if err != nil || created || got.ID != "1" {
		t.Errorf("after the build: %+v, created %t, %v", got, created, err)
	}
}

// TestGetOrCreateRaces lets goroutines, each in a transaction of its own or all in
// one, get or create one record: one creates it, all get it.
func TestGetOrCreateRaces(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		race := func(s *OrderStore, newOrder func() *Order) (int64, map[idgen.ID]bool, error) {
			var created atomic.Int64
			var mu sync.Mutex
			ids := map[idgen.ID]bool{}
			err := allAtOnce(8, func() error {
				o, isNew, err := s.GetOrCreate(ctx, newOrder())
				if err != nil {
					return err
				}
				if isNew {
					created.Add(1)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[o.ID] = true
				return nil
			})
			return created.Load(), ids, err
		}
		created, ids, err := race(s, func() *Order { return &Order{TenantID: "t", Number: "1"} })
		if err != nil || created != 1 || len(ids) != 1 {
			t.Errorf("%d created, ids %v, %v", created, ids, err)
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			var next atomic.Int64
			created, ids, err := race(s.In(tx), func() *Order { return &Order{ID: idgen.ID(100 + next.Add(1)), TenantID: "t", Number: "2"} })
			if err == nil && (created != 1 || len(ids) != 1) {
				t.Errorf("in one transaction: %d created, ids %v", created, ids)
			}
			return err
		}))
		if n := must[int](t)(s.OrderedByNumber().Count(ctx)); n != 2 {
			t.Errorf("there are %d records, want 2", n)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestGetOrCreateAfterALostAcknowledgement still says that it has created the record.
func TestGetOrCreateAfterALostAcknowledgement(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	firstOrder(t, s)
	second, third := s.New(Order{Number: "2"}), s.New(Order{Number: "3"}) // the commit of the lease is none of those below
	engine.begin(nil, fates(lost, conflict))
	_, created, err := s.GetOrCreate(ctx, second)
	if err != nil || !created {
		t.Errorf("created %t, %v", created, err)
	}
	engine.begin(nil, fates(dropped))
	_, created, err = s.GetOrCreate(ctx, third)
	if err != nil || !created {
		t.Errorf("created %t, %v", created, err)
	}
}

// TestGetOrCreateCost counts rounds.
func TestGetOrCreateCost(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := OrderStoreOf(open(t, counter), "t")
	firstOrder(t, s)
	must[*Order](t)(s.Get(ctx, 1)) // opens the store
	for _, c := range []struct {
		name   string
		o      *Order
		rounds int
		writes int
	}{
		{"new", &Order{ID: 2, TenantID: "t", Number: "2"}, 1, 4},
		{"by id", &Order{ID: 2, TenantID: "t", Number: "3"}, 1, 0},
		{"by number", &Order{ID: 3, TenantID: "t", Number: "2"}, 2, 0},
	} {
		counts, err := counter.Measure(func() error { _, _, err := s.GetOrCreate(ctx, c.o); return err })
		check(t, err)
		if counts.Rounds != c.rounds || counts.Writes != c.writes {
			t.Errorf("%s cost %v, want %d rounds, %d writes", c.name, counts, c.rounds, c.writes)
		}
	}
}

// TestGetOrCreateWhoseOwnerChanges lets another write of the transaction remove the
// record that has the unique value, or give it another value, after GetOrCreate has
// found its id: GetOrCreate creates its own.
func TestGetOrCreateWhoseOwnerChanges(t *testing.T) {
	for name, change := range map[string]func(s *OrderStore) error{
		"removed": func(s *OrderStore) error { return s.Delete(ctx, 1) },
		"another value": func(s *OrderStore) error {
			return s.Update(ctx, 1, func(o *Order) error { o.Number = "moved"; return nil })
		},
		"another owner": func(s *OrderStore) error {
			if err := s.Delete(ctx, 1); err != nil {
				return err
			}
			return s.CreateWithID(ctx, 3, &Order{TenantID: "t", Number: "1", CreatedAt: day0})
		},
	} {
		engine := &faulty{Database: enginetest.Open(t)}
		db := open(t, engine)
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			bound, changed := s.In(tx), false
			must[*Order](t)(bound.Get(ctx, 1)) // opens the store
			engine.begin(func(n int) error {
				if n == 3 { // after the reads of the id and of the number
					engine.begin(nil, nil)
					changed = true
					check(t, change(bound))
				}
				return nil
			}, nil)
			o, created, err := bound.GetOrCreate(ctx, &Order{ID: 2, TenantID: "t", Number: "1", CreatedAt: day0})
			wantID, wantCreated := int64(2), true
			if name == "another owner" {
				wantID, wantCreated = 3, false
			}
			if err != nil || int64(o.ID) != wantID || o.Number != "1" || created != wantCreated || !changed {
				t.Errorf("%s: %+v, created: %t, %v", name, o, created, err)
			}
			return err
		}))
		sound(t, s.Indexes().Verify)
	}
}
