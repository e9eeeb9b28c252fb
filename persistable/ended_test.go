// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

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
	var none *persistable.NoIndexError
	_, err := s.Find(ArticleFields.ISBN.Equal(nil))
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "null, as a unique one has not") {
		t.Errorf("%v, want a *NoIndexError that says that unique indexes have no nulls", err)
	}
}
