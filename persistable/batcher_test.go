// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// orderModel is what a store of orders holds, as a naive program keeps it.
type orderModel map[idgen.ID]Order

// put returns why an order cannot be put, as the error that is expected in a chain.
func (m orderModel) put(o *Order, mustBeNew, mustExist bool) string {
	switch _, found := m[o.ID]; {
	case found && mustBeNew:
		return "exists"
	case !found && mustExist:
		return "missing"
	}
	for id, other := range m {
		if id != o.ID && other.Number == o.Number {
			return "taken"
		}
	}
	m[o.ID] = *o
	return ""
}

func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, persistable.ErrExists):
		return "exists"
	case errors.Is(err, persistable.ErrNotFound):
		return "missing"
	case errors.As(err, new(*persistable.UniqueError)):
		return "taken"
	}
	return err.Error()
}

// randomOrders returns orders with few ids and numbers, so that they are in each
// other's way, also within one transaction.
func randomOrders(r *rand.Rand) []*Order {
	all := make([]*Order, r.IntN(40))
	for i := range all {
		n := 1 + r.IntN(200)
		all[i] = &Order{ID: idgen.ID(n), TenantID: "t", Number: fmt.Sprint(n), Status: OrderStatus(r.IntN(3)), CreatedAt: day0, Amount: int64(r.IntN(3))}
		if r.IntN(20) == 0 {
			all[i].Number = fmt.Sprint(1 + r.IntN(200))
		}
	}
	return all
}

// TestBatchModel runs random batches, below lost acknowledgements and other faults,
// and compares results, and then the records, with those of a map.
func TestBatchModel(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		r, s, model := seed.Rand(t), OrderStoreOf(db, "t"), orderModel{}
		for range 40 {
			o := persistable.BatchOptions{Records: 1 + r.IntN(30), Bytes: r.IntN(3) * 3000}
			switch r.IntN(6) {
			case 0:
				compareDeletion(t, r, s, model, o)
			case 1:
				compareDeletionOfIDs(t, r, s, model, o)
			default:
				comparePuts(t, r, s, model, o)
			}
		}
		stored := orderModel{}
		for o, err := range s.Scan().All(ctx) {
			check(t, err)
			stored[o.ID] = *o
		}
		if diff := cmp.Diff(withoutTimes(model), withoutTimes(stored), cmp.FilterPath(isBlank, cmp.Ignore())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		sound(t, s.Indexes().Verify)
	})
}

func withoutTimes(m orderModel) orderModel {
	for id, o := range m {
		o.CreatedAt = day0
		m[id] = o
	}
	return m
}

// saveExistingMany is SaveMany for records that must exist.
func saveExistingMany(s *OrderStore, all []*Order, o persistable.BatchOptions) error {
	_, err := persistable.SaveExistingFrom(ctx, &s.Store, func(yield func(*Order, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}, o)
	return err
}

// comparePuts creates or saves random orders, or saves them over existing ones, in the store
// and in the model.
func comparePuts(t *testing.T, r *rand.Rand, s *OrderStore, model orderModel, o persistable.BatchOptions) {
	t.Helper()
	kind, all := r.IntN(3), randomOrders(r)
	put := []func([]*Order, persistable.BatchOptions) error{
		func(all []*Order, o persistable.BatchOptions) error { return s.SaveMany(ctx, all, o) },
		func(all []*Order, o persistable.BatchOptions) error { return s.CreateMany(ctx, all, o) },
		func(all []*Order, o persistable.BatchOptions) error { return saveExistingMany(s, all, o) },
	}[kind]
	done, fault := 0, ""
	for _, v := range all {
		if fault = model.put(v, kind == 1, kind == 2); fault != "" {
			break
		}
		done++
	}
	progress := 0
	o.Progress = func(p persistable.BatchProgress) { progress = p.Done }
	err := put(all, o)
	got := len(all)
	if e := new(persistable.PartialError); errors.As(err, &e) {
		got = e.Done
	}
	if faultOf(err) != fault || got != done || progress != done {
		t.Fatalf("%d of %d orders, progress of %d, %q, want %d, %q", got, len(all), progress, faultOf(err), done, fault)
	}
}

// compareDeletion deletes the orders of one status.
func compareDeletion(t *testing.T, r *rand.Rand, s *OrderStore, model orderModel, o persistable.BatchOptions) {
	t.Helper()
	status := OrderStatus(r.IntN(3))
	before := len(model)
	maps.DeleteFunc(model, func(_ idgen.ID, o Order) bool { return o.Status == status })
	n, err := s.DeleteWhere(ctx, s.ByStatus(status), o)
	if err != nil || n != before-len(model) {
		t.Fatalf("%d orders were deleted, %v, want %d", n, err, before-len(model))
	}
}

// compareDeletionOfIDs deletes orders by their ids, of which some have no record or come twice.
func compareDeletionOfIDs(t *testing.T, r *rand.Rand, s *OrderStore, model orderModel, o persistable.BatchOptions) {
	t.Helper()
	ids := make([]idgen.ID, r.IntN(40))
	for i := range ids {
		ids[i] = idgen.ID(1 + r.IntN(200))
		delete(model, ids[i])
	}
	progress := 0
	o.Progress = func(p persistable.BatchProgress) { progress = p.Done }
	if err := persistable.DeleteMany(ctx, &s.Store, ids, o); err != nil || progress != len(ids) {
		t.Fatalf("%d of %d ids, %v", progress, len(ids), err)
	}
}

// TestBatchHandsValuesOver saves, in one transaction, a record that gives its unique
// value up and then one that takes it.
func TestBatchHandsValuesOver(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		all := manyOrders(100, 2)
		check(t, s.CreateMany(ctx, all, persistable.BatchOptions{}))
		all[0].Number, all[1].Number = "free", all[0].Number
		check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
		if o := must[*Order](t)(s.ByNumber(ctx, "000100")); o.ID != 101 {
			t.Errorf("the value belongs to %d", o.ID)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchesOfOneTransaction lets goroutines of one transaction create the same orders:
// one of them creates all, the others stop at the first.
func TestBatchesOfOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		firstOrder(t, s)
		var refused atomic.Int64
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			refused.Store(0)
			var next atomic.Int64
			return allAtOnce(6, func() error {
				all := manyOrders(100, 20)
				if next.Add(1)%2 == 0 { // by another id with the same number
					for _, o := range all {
						o.ID += 500
					}
				}
				err := s.In(tx).CreateMany(ctx, all, persistable.BatchOptions{})
				if errors.Is(err, persistable.ErrExists) || errors.As(err, new(*persistable.UniqueError)) {
					if e := wantAs[*persistable.PartialError](t, err); e.Done != 0 {
						t.Errorf("%d of a batch were created", e.Done)
					}
					refused.Add(1)
					return nil
				}
				return err
			})
		}))
		if n := must[int](t)(s.Scan().Count(ctx)); n != 21 || refused.Load() != 5 {
			t.Errorf("%d records, %d batches were refused", n, refused.Load())
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchOfAPanic lets the sequence of a batch panic: the records of the transactions
// before are written, and the store can be used.
func TestBatchOfAPanic(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = persistable.CreateFrom(ctx, &s.Store, func(yield func(*Order, error) bool) {
			for _, o := range manyOrders(100, 25) {
				yield(o, nil)
			}
			panic("made up")
		}, persistable.BatchOptions{Records: 10})
	}()
	if n := must[int](t)(s.Scan().Count(ctx)); n != 20 {
		t.Errorf("%d records, want 20", n)
	}
	check(t, s.SaveMany(ctx, manyOrders(100, 25), persistable.BatchOptions{}))
	sound(t, s.Indexes().Verify)
}

// TestBatchOfSlowAttempts lets attempts take longer than a transaction may last, until
// the engine gives up: the batch goes on with fewer records.
func TestBatchOfSlowAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &faulty{Database: enginetest.InProcess(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		slow := func(n int) func(int, func() error) error {
			return func(commit int, run func() error) error {
				if commit > n {
					return run()
				}
				time.Sleep(kv.MaxTransactionAge + time.Second)
				return kv.NewError(kv.CodeTransactionTooOld, "made up")
			}
		}
		o, sizes := steps(200)
		engine.begin(nil, slow(3)) // the attempts with 100, 50 and 25 records
		check(t, s.CreateMany(ctx, manyOrders(100, 300), o))
		if got := fmt.Sprint(*sizes); got != "[12 24 48 96 120]" {
			t.Errorf("transactions of %s", got)
		}
		o, sizes = steps(200)
		engine.begin(nil, slow(3))
		if n := must[int](t)(s.DeleteWhere(ctx, s.Scan(), o)); n != 301 {
			t.Errorf("%d records were deleted", n)
		}
		if got := fmt.Sprint(*sizes); got != "[12 24 48 96 121]" {
			t.Errorf("deletions of %s", got)
		}
		engine.begin(nil, slow(1000))
		err := s.CreateMany(ctx, manyOrders(100, 10), o)
		e := wantAs[*persistable.PartialError](t, err)
		if r := wantAs[*kv.RetryError](t, err); e.Done+e.Uncertain != 0 || r.Code != kv.CodeTransactionTooOld {
			t.Errorf("always too slow: %v", err)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestUncertainBehindLaterTransactions: the first attempt has eight records, and its
// acknowledgement is lost. Another process deletes the seventh record. The attempts after it
// have fewer records and are seen to commit, until they stop at the seventh: the eighth, which
// the first attempt has written, is uncertain.
func TestUncertainBehindLaterTransactions(t *testing.T) {
	for name, dropped := range map[string]bool{"committed": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			s, other := OrderStoreOf(open(t, e), "t"), OrderStoreOf(open(t, e.Database), "t")
			check(t, s.CreateMany(ctx, manyOrders(1, 8), persistable.BatchOptions{}))
			changed := manyOrders(1, 8)
			for _, o := range changed {
				o.Amount = 77
			}
			e.Lose(dropped, func() error { return other.Delete(ctx, changed[6].ID) })
			p := wantAs[*persistable.PartialError](t, saveExistingMany(s, changed, persistable.BatchOptions{Records: 8}))
			if p.Done != 6 || p.Uncertain != 2 || !errors.Is(p, persistable.ErrNotFound) {
				t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
			}
			if o := must[*Order](t)(s.Get(ctx, changed[7].ID)); (o.Amount == 77) == dropped {
				t.Errorf("the last record has the amount %d", o.Amount)
			}
		})
	}
}

// TestCertainBehindLostAcknowledgement: once as many records were seen to be written as an
// attempt of unknown outcome had, nothing is uncertain.
func TestCertainBehindLostAcknowledgement(t *testing.T) {
	e := &enginetest.Lossy{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, e), "t")
	check(t, s.CreateMany(ctx, manyOrders(1, 10), persistable.BatchOptions{}))
	e.Lose(false, nil)
	p := wantAs[*persistable.PartialError](t, saveExistingMany(s, manyOrders(1, 11), persistable.BatchOptions{Records: 4}))
	if p.Done != 10 || p.Uncertain != 0 {
		t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
	}
}

// TestSavedOverLostAcknowledgement: the second order gives its number to the third. After a
// lost acknowledgement a repetition would find the number taken. The orders are there
// already, so none is created with a token that would tell that the attempt has committed.
func TestSavedOverLostAcknowledgement(t *testing.T) {
	for name, dropped := range map[string]bool{"committed": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			s := OrderStoreOf(open(t, e), "t")
			all := manyOrders(1, 5)
			check(t, s.CreateMany(ctx, all, persistable.BatchOptions{}))
			given, giver, taker, fault := *all[1], *all[1], *all[2], *all[3]
			given.Number, giver.Number, taker.Number, fault.Number = "given", "other", "given", all[4].Number
			e.Lose(dropped, nil)
			p := wantAs[*persistable.PartialError](t, s.SaveMany(ctx, []*Order{all[0], &given, &giver, &taker, &fault}, persistable.BatchOptions{}))
			taken := wantAs[*persistable.UniqueError](t, p)
			if p.Done != 4 || p.Uncertain > 1 || taken.Owner != any(all[4].ID) {
				t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
			}
			if o := must[*Order](t)(s.ByNumber(ctx, "given")); o.ID != taker.ID {
				t.Errorf("order %d has the number", o.ID)
			}
			sound(t, s.Indexes().Verify)
		})
	}
}
