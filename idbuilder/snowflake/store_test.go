// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
)

// TestStore runs the suite of lease stores. With -race it would take minutes; TestConcurrent and
// TestRandom check the same in seconds.
func TestStore(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite of lease stores runs without -short")
	}
	stores := map[string]store.Store{}
	leasetest.Run(t, leasetest.Suite{Open: func(_ *testing.T, name string) lease.Store {
		if stores[name] == nil {
			stores[name] = storetest.Documents()
		}
		return enumerable{&documents{store: stores[name], now: time.Now}}
	}})
}

// enumerable can list its services, which a Leaser never needs.
type enumerable struct{ *documents }

func (e enumerable) Services(ctx context.Context, after string, limit int) (services []string, err error) {
	docs, err := e.store.List(ctx, store.Leases, store.ListOptions{After: after, Limit: 1000})
	for _, doc := range docs {
		p, err := decodePage(doc)
		if err != nil {
			return nil, err
		}
		if len(p.pairs) > 0 && len(services) < limit {
			services = append(services, doc.Key)
		}
	}
	return services, err
}

// TestForeignDocument checks that the error for a document which this package did not write
// names it, and that the document is not changed.
func TestForeignDocument(t *testing.T) {
	for _, value := range []string{
		``, `[]`, `{}`, `{"format":2,"pairs":""}`, `{"format":1,"pairs":"AAAA"}`, `{"format":1,"pairs":"!"}`,
		`{"format":1,"pairs":"AQMA/P8FAAE="}`, // deflated, and cut short
	} {
		m := storetest.Documents()
		if _, err := m.Put(t.Context(), store.Leases, store.Document{Key: "s", Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		d := &documents{store: m, now: time.Now}
		err := d.Update(t.Context(), "s", func(tx lease.Tx) error {
			tx.Set([]byte("k"), []byte("v"))
			return nil
		})
		var corrupt *store.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Where != `lease "s"` {
			t.Errorf("%q: got %v, want a CorruptError that names the document", value, err)
		}
		if doc, err := m.Get(t.Context(), store.Leases, "s"); err != nil || string(doc.Value) != value {
			t.Errorf("%q was overwritten", value)
		}
	}
}
