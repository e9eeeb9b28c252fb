// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// writesOfATx are operations bound to a transaction, on players, who have ranks and
// versions, and on orders, which have a unique index.
var writesOfATx = map[string]func(db *persistable.DB, tx persistable.Tx) error{
	"Create": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).Create(ctx, &Player{ID: 7, Game: "go", Score: 3})
	},
	"CreateWithID": func(db *persistable.DB, tx persistable.Tx) error {
		return OrderStoreOf(db, "t").In(tx).CreateWithID(ctx, 7, &Order{TenantID: "t", Number: "7"})
	},
	"Save": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).Save(ctx, &Player{ID: 1, Game: "chess", Score: 9})
	},
	"Update": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).Update(ctx, 1, func(p *Player) error { p.Score++; return nil })
	},
	"SaveExisting": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).SaveExisting(ctx, &Player{ID: 1, Game: "go", Score: 9})
	},
	"Delete": func(db *persistable.DB, tx persistable.Tx) error { return PlayerStoreOf(db).In(tx).Delete(ctx, 1) },
	"GetOrCreate": func(db *persistable.DB, tx persistable.Tx) error {
		_, _, err := OrderStoreOf(db, "t").In(tx).GetOrCreate(ctx, &Order{ID: 8, TenantID: "t", Number: "8"})
		return err
	},
	"CreateMany": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).CreateMany(ctx, []*Player{{ID: 7, Game: "go", Score: 3}, {ID: 8, Game: "go"}}, persistable.BatchOptions{})
	},
	"SaveMany": func(db *persistable.DB, tx persistable.Tx) error {
		return PlayerStoreOf(db).In(tx).SaveMany(ctx, []*Player{{ID: 1, Game: "chess"}, {ID: 8, Game: "go"}}, persistable.BatchOptions{})
	},
	"DeleteMany": func(db *persistable.DB, tx persistable.Tx) error {
		s := PlayerStoreOf(db).In(tx)
		return persistable.DeleteMany(ctx, &s.Store, []int64{1, 2}, persistable.BatchOptions{})
	},
	"DeleteWhere": func(db *persistable.DB, tx persistable.Tx) error {
		s := PlayerStoreOf(db).In(tx)
		_, err := s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{})
		return err
	},
}

// TestFailedOperationsWriteNothing lets each read of an operation fail, and the function of
// the transaction go on: nothing of the operation is committed. Where it has only to write a
// record, the transaction commits; where it was about to make a store or has written some
// records of a batch, the transaction fails.
func TestFailedOperationsWriteNothing(t *testing.T) {
	for name, write := range writesOfATx {
		for _, fresh := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fresh %v", name, fresh), func(t *testing.T) {
				engine := &faulty{Database: enginetest.Open(t)}
				db := open(t, engine)
				if !fresh {
					check(t, PlayerStoreOf(db).CreateMany(ctx, []*Player{{ID: 1, Game: "go", Score: 1}, {ID: 2, Game: "go", Score: 2}}, persistable.BatchOptions{}))
					firstOrder(t, OrderStoreOf(db, "t"))
				}
				failures := 0
				for n := 1; tolerate(t, db, engine, n, fresh || strings.Contains(name, "Many") || strings.Contains(name, "Where"), write); n++ {
					failures++
				}
				if failures == 0 {
					t.Error("no read failed: this tests nothing")
				}
				sound(t, PlayerStoreOf(db).Indexes().Verify)
				sound(t, OrderStoreOf(db, "t").Indexes().Verify)
			})
		}
	}
}

// tolerate runs a write in which the n-th read fails in a transaction that does not mind. It
// reports whether there was such a read.
func tolerate(t *testing.T, db *persistable.DB, engine *faulty, n int, mayFail bool, write func(*persistable.DB, persistable.Tx) error) bool {
	t.Helper()
	before := dump(t, db)
	madeUp := context.DeadlineExceeded // the error of a record would end a batch, with those before it written
	var failed error
	engine.begin(func(i int) error {
		if i == n {
			return madeUp
		}
		return nil
	}, nil)
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		failed = write(db, tx)
		return nil
	})
	engine.begin(nil, nil)
	if !errors.Is(failed, madeUp) { // all reads succeeded
		check(t, err)
		return false
	}
	if err != nil && !mayFail || err != nil && !errors.Is(err, madeUp) {
		t.Errorf("read %d failed, and Transact returned %v", n, err)
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Fatalf("read %d failed, and this was written (Transact: %v):\n%s", n, err, diff)
	}
	return true
}

// TestRefusedRecordsMakeNoStore: a record that is refused creates neither the directory of a
// tenant whose name was mistyped nor a header, and the transaction goes on.
func TestRefusedRecordsMakeNoStore(t *testing.T) {
	db := open(t, enginetest.Open(t))
	typo, long := OrderStoreOf(db, "typo"), strings.Repeat("x", kv.MaxKeySize)
	other := OrderStoreOf(db, "t")
	check(t, other.Create(ctx, other.New(Order{Number: "0"})))
	before := dump(t, db)
	for name, o := range map[string]*Order{"another tenant": {ID: 1, TenantID: "other"}, "too long": {ID: 1, TenantID: "typo", Number: long}} {
		for verb, write := range map[string]func(tx persistable.Tx) error{
			"Create":      func(tx persistable.Tx) error { return typo.In(tx).Create(ctx, o) },
			"Save":        func(tx persistable.Tx) error { return typo.In(tx).Save(ctx, o) },
			"GetOrCreate": func(tx persistable.Tx) error { _, _, err := typo.In(tx).GetOrCreate(ctx, o); return err },
			"CreateMany": func(tx persistable.Tx) error {
				return typo.In(tx).CreateMany(ctx, []*Order{o, o}, persistable.BatchOptions{})
			},
		} {
			check(t, db.Transact(ctx, func(tx persistable.Tx) error {
				if write(tx) == nil {
					t.Errorf("%s, %s: no error", name, verb)
				}
				return nil
			}))
			if diff := cmp.Diff(before, dump(t, db)); diff != "" {
				t.Errorf("%s, %s: written: %s", name, verb, diff)
			}
		}
	}
	if tenants := must[[]string](t)(db.ListDirectory(ctx, "tenants")); len(tenants) != 1 {
		t.Errorf("the tenants are %q", tenants)
	}
}

// TestSpoiledTransactionOfTheCaller: a transaction that the caller commits cannot be
// committed with a part of an operation.
func TestSpoiledTransactionOfTheCaller(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	committed := 0
	for n := 1; committed == 0; n++ {
		before := dump(t, db)
		madeUp := errors.New("made up")
		var failed error
		engine.begin(func(i int) error {
			if i == n {
				return madeUp
			}
			return nil
		}, nil)
		err := engine.Transact(ctx, func(tx kv.Transaction) error {
			failed = PlayerStoreOf(db).In(db.In(tx)).Create(ctx, &Player{ID: 7, Game: "go", Score: 3})
			return nil
		})
		engine.begin(nil, nil)
		switch {
		case failed == nil:
			check(t, err)
			committed++
		case err != nil && kv.CodeOf(err) != kv.CodeTransactionCancelled:
			t.Fatal(err)
		default:
			if diff := cmp.Diff(before, dump(t, db)); diff != "" {
				t.Fatalf("read %d failed, and this was written (%v):\n%s", n, err, diff)
			}
		}
	}
}

// TestWritesThatAreNotSeen: a store refuses to write in a transaction with reads that do not see its
// writes, by an option that the program has set. A second write would leave the entries of the
// first, and the unique value of them taken.
func TestWritesThatAreNotSeen(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := OrderStoreOf(db, "t")
	o := someOrders(t, s, 1)[0]
	before := dump(t, db)
	for _, option := range []kv.Option{kv.OptionReadYourWritesDisable, kv.OptionSnapshotRYWDisable} {
		twice := func(in *OrderStore) error {
			changed := *o
			for _, number := range []string{"2", "3"} {
				changed.Number = number
				if err := in.Save(ctx, &changed); err != nil {
					return err
				}
			}
			return nil
		}
		for name, write := range map[string]func(*OrderStore) error{
			"Save":   twice,
			"Delete": func(in *OrderStore) error { return in.Delete(ctx, o.ID) },
			"CreateMany": func(in *OrderStore) error {
				return in.CreateMany(ctx, []*Order{s.New(Order{Number: "4"}), s.New(Order{Number: "5"})}, persistable.BatchOptions{})
			},
			"goes on": func(in *OrderStore) error { _ = twice(in); return nil },
		} {
			in := func() error {
				return engine.Transact(ctx, func(tx kv.Transaction) error {
					if err := tx.SetOption(option, 0); err != nil {
						return err
					}
					return write(s.In(db.In(tx)))
				})
			}
			lent := func() error {
				return db.Transact(ctx, func(tx persistable.Tx) error {
					if err := tx.KV().SetOption(option, 0); err != nil {
						return err
					}
					return write(s.In(tx))
				})
			}
			for _, run := range []func() error{in, lent} {
				err := run()
				if code := kv.CodeOf(err); code != kv.CodeClientInvalidOperation && code != kv.CodeTransactionCancelled {
					t.Errorf("%s with option %d: %v", name, option, err)
				}
				if diff := cmp.Diff(before, dump(t, db)); diff != "" {
					t.Fatalf("%s with option %d was written:\n%s", name, option, diff)
				}
			}
		}
	}
}

// TestEndedContext calls operations, bound to a transaction and not, with a
// context that has ended: each returns its cause.
func TestEndedContext(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, db.Transact(ctx, func(tx persistable.Tx) error { return createOrders(ctx, orders.In(tx), 0, 300) }))
	cause := errors.New("server is shutting down")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	operations := func(s *OrderStore) map[string]error {
		_, get := s.Get(ended, 1000)
		_, exists := s.Exists(ended, 1000)
		_, page := s.OrderedByStatus().Page(ended, "")
		_, count := s.Scan().Count(ended)
		return map[string]error{
			"Get": get, "Exists": exists, "Page": page, "Count": count,
			"Save": s.Save(ended, &Order{ID: 1, TenantID: "t"}), "Delete": s.Delete(ended, 1000),
		}
	}
	for range 20 {
		for name, err := range operations(orders) {
			if !errors.Is(err, cause) {
				t.Errorf("%s: %v, want %v", name, err, cause)
			}
		}
		if err := db.Transact(ended, func(persistable.Tx) error { t.Error("the function ran"); return nil }); !errors.Is(err, cause) {
			t.Errorf("Transact: %v, want %v", err, cause)
		}
	}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		for name, err := range operations(orders.In(tx)) {
			if !errors.Is(err, cause) {
				t.Errorf("bound, %s: %v, want %v", name, err, cause)
			}
		}
		return nil
	}))
}

// TestContextEndsBetweenRecords ends the context in the loop over a query's
// records: no other follows.
func TestContextEndsBetweenRecords(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	check(t, db.Transact(ctx, func(tx persistable.Tx) error { return createOrders(ctx, orders.In(tx), 0, 300) }))
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	records := 0
	for o, err := range orders.OrderedByStatus().All(ended) {
		if err != nil {
			if !errors.Is(err, context.Canceled) || records != 10 {
				t.Errorf("%v after %d records, want the context's end after 10", err, records)
			}
			return
		}
		if records++; records == 10 {
			cancel()
		}
		_ = o
	}
	t.Errorf("%d records and no error", records)
}

// TestFindNullInAUniqueIndex asks for null where only a unique index has the
// field: the error says why it does not serve.
func TestFindNullInAUniqueIndex(t *testing.T) {
	s := ArticleStoreOf(open(t, enginetest.Open(t)))
	_, err := s.Find(ArticleFields.ISBN.Equal(nil))
	if !errors.Is(err, persistable.ErrNoIndex) || !strings.Contains(err.Error(), "null, as a unique one has not") {
		t.Errorf("%v, want an ErrNoIndex that says that unique indexes have no nulls", err)
	}
}
