// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

func firstOrder(t *testing.T, s *OrderStore) {
	t.Helper()
	check(t, s.CreateWithID(ctx, 1, &Order{TenantID: "t", Number: "1", Status: 1, CreatedAt: day0}))
}

// TestConcurrentUpdates increments a counter from many goroutines: none is lost.
func TestConcurrentUpdates(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		const goroutines, each = 16, 10
		var group sync.WaitGroup
		for range goroutines {
			group.Go(func() {
				for range each {
					if err := s.Update(ctx, 1, func(o *Order) error { o.Amount++; return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		// Behind a lost acknowledgement an increment may be applied twice.
		hostile := strings.HasSuffix(t.Name(), "/hostile")
		if o := must[*Order](t)(s.Get(ctx, 1)); o.Amount < goroutines*each || o.Amount > goroutines*each && !hostile {
			t.Errorf("the counter is %d, want %d", o.Amount, goroutines*each)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestUpdate changes indexed fields, and refuses what it must.
func TestUpdate(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		check(t, s.Update(ctx, 1, func(o *Order) error { o.Number = "2"; return nil }))
		if o := must[*Order](t)(s.ByNumber(ctx, "2")); o.ID != 1 {
			t.Errorf("the record under its new number is %d", o.ID)
		}
		own := errors.New("own error")
		if err := s.Update(ctx, 1, func(o *Order) error { o.Number = "3"; return own }); !errors.Is(err, own) {
			t.Errorf("the function's error came as %v", err)
		}
		var field *persistable.FieldError
		if err := s.Update(ctx, 1, func(o *Order) error { o.ID = 9; return nil }); !errors.As(err, &field) {
			t.Errorf("another id: %v, want a *FieldError", err)
		}
		var directory *persistable.DirectoryError
		if err := s.Update(ctx, 1, func(o *Order) error { o.TenantID = "u"; return nil }); !errors.As(err, &directory) {
			t.Errorf("another tenant: %v, want a *DirectoryError", err)
		}
		unused := func(*Order) error { t.Error("the function ran"); return nil }
		for name, s := range map[string]*OrderStore{"no record": s, "no directory": OrderStoreOf(db, "nowhere")} {
			if err := s.Update(ctx, 5, unused); !errors.Is(err, persistable.ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", name, err)
			}
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			return s.In(tx).Update(ctx, 1, func(o *Order) error { o.Amount = 7; return nil })
		}))
		if o := must[*Order](t)(s.Get(ctx, 1)); o.Number != "2" || o.Amount != 7 {
			t.Errorf("stored: %+v", o)
		}
	})
}

// TestUpdateOfADeletedRecord deletes the record while Update changes it: it stays
// deleted.
func TestUpdateOfADeletedRecord(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	firstOrder(t, s)
	err := s.Update(ctx, 1, func(o *Order) error { o.Amount++; return s.Delete(persistable.OwnTransaction(ctx), 1) })
	if found := must[bool](t)(s.Exists(ctx, 1)); !errors.Is(err, persistable.ErrNotFound) || found {
		t.Errorf("%v, want ErrNotFound; the record is there: %t", err, found)
	}
}

// TestSaveExisting saves over what is there, and nothing else.
func TestSaveExisting(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		o := &Order{ID: 1, TenantID: "t", Number: "1", CreatedAt: day0}
		if err := s.SaveExisting(ctx, o); !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("where there is no directory: %v, want ErrNotFound", err)
		}
		if names := must[[]string](t)(db.ListDirectory(ctx, "tenants")); len(names) > 0 {
			t.Errorf("it has created the directories %v", names)
		}
		check(t, s.Create(ctx, o))
		o.Amount = 3
		check(t, s.SaveExisting(ctx, o))
		check(t, s.Delete(ctx, 1))
		if err := s.SaveExisting(ctx, o); !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("after Delete: %v, want ErrNotFound", err)
		}
	})
}

// TestSaveIfUnchanged saves records with and without a concurrent change.
func TestSaveIfUnchanged(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	firstOrder(t, s)
	was := must[*Order](t)(s.Get(ctx, 1))
	mine := *was
	mine.Amount = 1
	check(t, s.SaveIfUnchanged(ctx, was, &mine))
	if err := s.SaveIfUnchanged(ctx, was, &mine); !errors.Is(err, persistable.ErrChanged) {
		t.Errorf("over a change: %v, want ErrChanged", err)
	}
	other := mine
	other.ID = 2
	var field *persistable.FieldError
	if err := s.SaveIfUnchanged(ctx, &mine, &other); !errors.As(err, &field) {
		t.Errorf("of another record: %v, want a *FieldError", err)
	}
	check(t, s.Delete(ctx, 1))
	if err := s.SaveIfUnchanged(ctx, &mine, &mine); !errors.Is(err, persistable.ErrNotFound) {
		t.Errorf("after Delete: %v, want ErrNotFound", err)
	}
}

// TestExchangeOfUniqueValues lets two records exchange unique values in one
// transaction: at once it is refused, by way of a third value it works.
func TestExchangeOfUniqueValues(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		for id, number := range map[idgen.ID]string{1: "a", 2: "b"} {
			check(t, s.CreateWithID(ctx, id, &Order{TenantID: "t", Number: number, CreatedAt: day0}))
		}
		set := func(s *OrderStore, id idgen.ID, number string) error {
			return s.Update(ctx, id, func(o *Order) error { o.Number = number; return nil })
		}
		var taken *persistable.UniqueError
		err := db.Transact(ctx, func(tx persistable.Tx) error {
			return errors.Join(set(s.In(tx), 1, "b"), set(s.In(tx), 2, "a"))
		})
		if !errors.As(err, &taken) || taken.Owner != idgen.ID(2) {
			t.Errorf("at once: %v, want a *UniqueError", err)
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			return cmp.Or(set(s.In(tx), 1, "third"), set(s.In(tx), 2, "a"), set(s.In(tx), 1, "b"))
		}))
		for number, id := range map[string]idgen.ID{"a": 2, "b": 1} {
			if o := must[*Order](t)(s.ByNumber(ctx, number)); o.ID != id {
				t.Errorf("%s belongs to %d, want %d", number, o.ID, id)
			}
		}
		sound(t, s.Indexes().Verify)
	})
}
