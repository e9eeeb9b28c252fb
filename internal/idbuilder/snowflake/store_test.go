// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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

// exampleRoot and examplePairs are what the example of a key's documents has.
var (
	exampleRoot = root{
		Format: rootFormat, Key: "orders", Quarantine: 1767225700000, Layouts: []layoutState{
			{Layout{1, 1673606841000, 41, 10, 12}, 3, true, 1767225600000},
			{Layout{0, 1673606841000, 42, 10, 12}, 5, false, 0},
		},
	}
	examplePairs = []lease.Pair{
		{Key: []byte("b\x00\x00\x00\x00"), Value: []byte("1deadbeef {}")}, {Key: []byte("f"), Value: bytes.Repeat([]byte("0123456789"), 50)},
	}
)

// TestFormats reads the documents of a key that earlier versions wrote, and writes them: its
// layouts, and a page of leases that a later version of the layout has closed.
func TestFormats(t *testing.T) {
	formats.Check(t, formats.Format{
		Name: "idbuilder/snowflake",
		Write: func(t *testing.T) string {
			page, err := (&page{Closed: 5, pairs: examplePairs}).encode()
			if err != nil {
				t.Fatal(err)
			}
			root, err := json.Marshal(exampleRoot)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s = %s\n%s = %s\n", keyID("orders"), root, prefixOf("orders", exampleRoot.Layouts[0].Layout)+"0", page)
		},
		Mask: func(t *testing.T, example string) string { // the format does not say how well a library compresses
			_, value, _ := strings.Cut(strings.Split(example, "\n")[1], " = ")
			p, err := decodePage(store.Document{Value: []byte(value)})
			if err != nil {
				t.Fatal(err)
			}
			deflated, err := json.Marshal(p.Pairs)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Replace(example, string(deflated), "…", 1)
		},
		Read: func(t *testing.T, example string) {
			lines := strings.Split(example, "\n")
			key, value, _ := strings.Cut(lines[0], " = ")
			r, err := decodeRoot(store.Document{Key: key, Value: []byte(value)})
			if err != nil || !reflect.DeepEqual(*r, exampleRoot) {
				t.Errorf("the layouts are %+v, %v", r, err)
			}
			key, value, _ = strings.Cut(lines[1], " = ")
			p, err := decodePage(store.Document{Key: key, Value: []byte(value)})
			if err != nil || p.Closed != 5 || !reflect.DeepEqual(p.pairs, examplePairs) || !strings.HasPrefix(key, prefixOf("orders", exampleRoot.Layouts[0].Layout)) {
				t.Errorf("the page %s is %+v, %v", key, p, err)
			}
		},
	})
}
