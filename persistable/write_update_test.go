// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
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
		// After a lost acknowledgement an increment may be applied twice.
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

// TestUpdatesOfOneTransaction increments a counter from the goroutines of one
// transaction: none is lost.
func TestUpdatesOfOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		const goroutines = 16
		var amount int64
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			bound := s.In(tx)
			before, err := bound.Get(ctx, 1)
			if err != nil {
				return err
			}
			amount = before.Amount
			return allAtOnce(goroutines, func() error {
				return bound.Update(ctx, 1, func(o *Order) error { o.Amount++; return nil })
			})
		}))
		if o := must[*Order](t)(s.Get(ctx, 1)); o.Amount != amount+goroutines {
			t.Errorf("the counter is %d, want %d", o.Amount, amount+goroutines)
		}
	})
}

// allAtOnce runs fn in n goroutines and returns the last error.
func allAtOnce(n int, fn func() error) (failed error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := fn(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	group.Wait()
	return failed
}

// TestUpdateWhoseFunctionWrites lets the function write in the transaction: another
// record, which is fine, and its own, which would never end.
func TestUpdateWhoseFunctionWrites(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	firstOrder(t, s)
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Update(ctx, 1, func(o *Order) error {
			o.Number = "moved"
			return s.In(tx).CreateWithID(ctx, 2, &Order{TenantID: "t", Number: "2", CreatedAt: day0})
		})
	}))
	if got := numbers(must[[]*Order](t)(s.OrderedByNumber().Slice(ctx))); strings.Join(got, " ") != "2 moved" {
		t.Errorf("there are %v", got)
	}
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Update(ctx, 1, func(o *Order) error {
			o.Amount++
			return s.In(tx).Save(ctx, o)
		})
	})
	if err == nil || !strings.Contains(err.Error(), "must not write the record") {
		t.Errorf("of its own record: %v", err)
	}
	// A value that another write of the transaction takes while the function runs.
	err = db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Update(ctx, 1, func(o *Order) error {
			o.Number = "3"
			return s.In(tx).CreateWithID(ctx, 3, &Order{TenantID: "t", Number: "3", CreatedAt: day0})
		})
	})
	if e := wantAs[*persistable.UniqueError](t, err); e.Index != "Order_Number" {
		t.Errorf("%v", err)
	}
	sound(t, s.Indexes().Verify)
}

// TestUnchangedSaveConflictsWithNone saves a record as it is during a transaction that
// has read it.
func TestUnchangedSaveConflictsWithNone(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	firstOrder(t, orders)
	small := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x"}, Published: day0})
	big := NewArticle(Article{Section: "s", Slug: "b", Published: day0, Body: make([]byte, 250_000)})
	check(t, articles.Create(ctx, small))
	check(t, articles.Create(ctx, big))
	before, runs := dump(t, db), 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		runs++
		o, err := orders.In(tx).Get(ctx, 1)
		if err != nil {
			return err
		}
		if _, err := articles.In(tx).GetMany(ctx, []string{small.ID, big.ID}); err != nil {
			return err
		}
		check(t, orders.Save(persistable.OwnTransaction(ctx), o))
		check(t, articles.Save(persistable.OwnTransaction(ctx), small))
		check(t, articles.Save(persistable.OwnTransaction(ctx), big))
		check(t, articles.Update(persistable.OwnTransaction(ctx), big.ID, func(*Article) error { return nil }))
		o.Amount = 9
		return orders.In(tx).Save(ctx, o)
	}))
	if runs != 1 {
		t.Errorf("the transaction ran %d times", runs)
	}
	changed := 0
	for key, value := range dump(t, db) {
		if string(before[key]) != string(value) {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d keys changed, want that of the order only", changed)
	}
}

// TestUnchangedSaveIsARead lets another transaction change a record that a
// transaction has saved as it was, before it writes something that rests on it.
func TestUnchangedSaveIsARead(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	all := someOrders(t, s, 2)
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		runs++
		if err := s.In(tx).Update(ctx, all[0].ID, func(o *Order) error { return nil }); err != nil {
			return err
		}
		if runs == 1 {
			check(t, s.Update(persistable.OwnTransaction(ctx), all[0].ID, func(o *Order) error { o.Amount = 77; return nil }))
		}
		return s.In(tx).Update(ctx, all[1].ID, func(o *Order) error { o.Amount++; return nil })
	}))
	if runs != 2 {
		t.Errorf("the transaction ran %d times, want a conflict", runs)
	}
}

// TestUpdatesClaimOneValue gives eight records one unique value, at once in one
// transaction: one gets it.
func TestUpdatesClaimOneValue(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		all := someOrders(t, s, 8)
		var taken atomic.Int64
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			taken.Store(0)
			var next atomic.Int64
			return allAtOnce(len(all), func() error {
				id := all[next.Add(1)-1].ID
				err := s.In(tx).Update(ctx, id, func(o *Order) error { o.Number = "same"; return nil })
				var unique *persistable.UniqueError
				if errors.As(err, &unique) {
					taken.Add(1)
					return nil
				}
				return err
			})
		}))
		if got := taken.Load(); got != int64(len(all)-1) {
			t.Errorf("%d updates were refused, want %d", got, len(all)-1)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestUpdateWhoseClaimIsTakenMeanwhile updates a record with two new unique values.
// Between the reads of the two another write of the transaction takes the first.
func TestUpdateWhoseClaimIsTakenMeanwhile(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	s := ArticleStoreOf(db)
	a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Published: day0})
	b := NewArticle(Article{Section: "s", Slug: "b", ISBN: ptr("2"), Published: day0})
	check(t, s.Create(ctx, a))
	check(t, s.Create(ctx, b))
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		bound := s.In(tx)
		must[*Article](t)(bound.Get(ctx, a.ID)) // opens the store
		engine.begin(func(n int) error {
			if n == 3 {
				engine.begin(nil, nil)
				check(t, bound.Update(ctx, b.ID, func(b *Article) error { b.Slug = "new"; return nil }))
			}
			return nil
		}, nil)
		return bound.Update(ctx, a.ID, func(a *Article) error { a.Slug, a.ISBN = "new", ptr("3"); return nil })
	})
	if e := wantAs[*persistable.UniqueError](t, err); e.Index != "Article_Section_Slug" || e.Owner != b.ID {
		t.Errorf("%v", err)
	}
	sound(t, s.Indexes().Verify)
}
