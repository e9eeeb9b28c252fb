// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"strings"
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

// TestNewerDocument: leases that a newer version wrote are left as they are, and not called damage.
func TestNewerDocument(t *testing.T) {
	for value, want := range map[string]string{
		`{"format":2,"pairs":"AQA="}`:                            "of format 2",
		`{"format":1,"pairs":"AQA=","shards":3}`:                 `the member "shards"`,
		`{"format":1,"pairs":"AQA=","needs":["spread v0.4.0"]}`:  "run version v0.4.0 or later",
		`{"format":3,"pages":["AQA="],"needs":["pages v0.5.0"]}`: "",
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
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `lease "s"`) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
		if doc, err := m.Get(t.Context(), store.Leases, "s"); err != nil || string(doc.Value) != value {
			t.Errorf("%s was overwritten", value)
		}
	}
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
