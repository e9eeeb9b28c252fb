// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
)

// Many claim one value: one gets it.
func TestConcurrentClaimsOfOneValue(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		for round := range 5 {
			var won, lost atomic.Int32
			var claims sync.WaitGroup
			for range 8 {
				claims.Go(func() {
					var taken *persistable.UniqueError
					switch err := s.Create(ctx, s.New(Order{Number: fmt.Sprint(round), Status: Paid, CreatedAt: day0, Amount: 1})); {
					case err == nil:
						won.Add(1)
					case errors.As(err, &taken):
						lost.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			claims.Wait()
			if won.Load() != 1 || lost.Load() != 7 {
				t.Errorf("%d won and %d lost", won.Load(), lost.Load())
			}
		}
		sound(t, s.Indexes().Verify)
	})
}

// Many create one record: one does.
func TestConcurrentCreatesOfOneRecord(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		for round := range 5 {
			var won atomic.Int32
			var creates sync.WaitGroup
			for w := range 6 {
				creates.Go(func() {
					a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(round, w), Tags: []string{fmt.Sprint(w)}, Published: day0})
					a.ID = fmt.Sprint(round)
					switch err := s.Create(ctx, a); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, persistable.ErrExists):
						t.Error(err)
					}
				})
			}
			creates.Wait()
			if won.Load() != 1 {
				t.Errorf("%d creates of one record succeeded", won.Load())
			}
		}
		if r := sound(t, s.Indexes().Verify); r.Records != 5 {
			t.Errorf("%d records", r.Records)
		}
	})
}

// Read-modify-write through several stores loses nothing.
func TestConcurrentTransfers(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		one, two := OrderStoreOf(db, "one"), OrderStoreOf(db, "two")
		a, b := one.New(Order{Number: "a", Status: Pending, CreatedAt: day0, Amount: 100}), two.New(Order{Number: "b", Status: Pending, CreatedAt: day0, Amount: 100})
		check(t, one.Create(ctx, a))
		check(t, two.Create(ctx, b))
		receipts := ArticleStoreOf(db)
		var transfers sync.WaitGroup
		for w := range 4 {
			transfers.Go(func() {
				for i := range 8 {
					receipt := NewArticle(Article{Section: "receipt", Slug: fmt.Sprint(w, "-", i), Published: day0})
					err := db.Transact(ctx, func(tx persistable.Tx) error {
						from, err := one.In(tx).Get(ctx, a.ID)
						if err != nil {
							return err
						}
						to, err := two.In(tx).Get(ctx, b.ID)
						if err != nil {
							return err
						}
						from.Amount, to.Amount = from.Amount-1, to.Amount+1
						from.Status = OrderStatus(from.Amount % 3)
						return errors.Join(one.In(tx).Save(ctx, from), two.In(tx).Save(ctx, to), receipts.In(tx).Create(ctx, receipt))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				check := func(tx persistable.Tx) error {
					from, err := one.In(tx).Get(ctx, a.ID)
					if err != nil {
						return err
					}
					to, err := two.In(tx).Get(ctx, b.ID)
					if err == nil && from.Amount+to.Amount != 200 {
						t.Errorf("a reader saw %d and %d", from.Amount, to.Amount)
					}
					return err
				}
				if err := db.ReadTransact(ctx, check); err != nil {
					t.Error(err)
				}
			})
		}
		transfers.Wait()
		readers.Wait()
		if got := must[*Order](t)(one.Get(ctx, a.ID)).Amount; got != 100-32 {
			t.Errorf("the amount is %d, want %d", got, 100-32)
		}
		if n := must[int](t)(receipts.Scan().Count(ctx)); n != 32 {
			t.Errorf("%d receipts", n)
		}
		sound(t, one.Indexes().Verify)
	})
}

func TestReadOnlyTransactions(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		o := s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
		check(t, s.Create(ctx, o))
		for name, work := range map[string]func(*OrderStore) error{
			"Create": func(s *OrderStore) error {
				return s.Create(ctx, s.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1}))
			},
			"Save":   func(s *OrderStore) error { return s.Save(ctx, o) },
			"Delete": func(s *OrderStore) error { return s.Delete(ctx, o.ID) },
		} {
			err := db.ReadTransact(ctx, func(tx persistable.Tx) error { return work(s.In(tx)) })
			if !errors.Is(err, persistable.ErrReadOnly) || !strings.Contains(err.Error(), "use Transact instead of ReadTransact") {
				t.Errorf("%s: %v", name, err)
			}
		}
		check(t, db.ReadTransact(ctx, func(tx persistable.Tx) error {
			if tx.KV() != nil {
				t.Error("a read-only transaction can be written to")
			}
			_, err := s.In(tx).Get(ctx, o.ID)
			return err
		}))
	})
}

// One transaction is used by several goroutines for operations on different
// records.
func TestOneTransactionByManyGoroutines(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		var all []*Order
		for i := range 8 {
			all = append(all, s.New(Order{Number: fmt.Sprint(i), Status: Paid, CreatedAt: day0, Amount: 1}))
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			var creates sync.WaitGroup
			errs := make([]error, len(all))
			for i, o := range all {
				creates.Go(func() { errs[i] = s.In(tx).Create(ctx, o) })
			}
			creates.Wait()
			return errors.Join(errs...)
		}))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 8 {
			t.Errorf("%d records", n)
		}
		sound(t, s.Indexes().Verify)
	})
}
