// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/seed"
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
