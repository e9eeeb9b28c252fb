// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// world is a database to be damaged, in one transaction.
type world struct {
	t  *testing.T
	tx kv.Transaction
}

// dir returns the directory at a path.
func (w world) dir(path string) *directory.Directory {
	w.t.Helper()
	d, err := directory.Root().Open(w.t.Context(), w.tx, strings.Split(path, "/"))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// key packs a key of the directory at a path.
func (w world) key(path string, elements ...any) []byte {
	w.t.Helper()
	s, err := w.dir(path).Subspace()
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Sub(elements...).Bytes()
}

// order packs a key of the directory of orders.
func (w world) order(elements ...any) []byte { return w.key("tenants/tenant-1/orders", elements...) }

func (w world) get(key []byte) []byte {
	w.t.Helper()
	value, err := w.tx.Get(key).Get(w.t.Context())
	if err != nil || value == nil {
		w.t.Fatalf("%x has no value: %v", key, err)
	}
	return bytes.Clone(value)
}

// first returns the first pair below a key.
func (w world) first(prefix []byte) kv.KeyValue {
	w.t.Helper()
	pairs, err := w.tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Limit: 1}).Slice(w.t.Context())
	if err != nil || len(pairs) == 0 {
		w.t.Fatalf("there is nothing below %x: %v", prefix, err)
	}
	return kv.KeyValue{Key: bytes.Clone(pairs[0].Key), Value: bytes.Clone(pairs[0].Value)}
}

// header changes the elements of the header of the orders.
func (w world) header(change func(tuple.Tuple)) []byte {
	w.t.Helper()
	key := w.order("S", "Order")
	t, err := tuple.Unpack(w.get(key))
	if err != nil {
		w.t.Fatal(err)
	}
	change(t)
	value, err := t.Pack()
	if err != nil {
		w.t.Fatal(err)
	}
	w.tx.Set(key, value)
	return key
}

// metadata returns the metadata of the root, and the prefix of the directory at a path.
func (w world) metadata(path string) (directory.Metadata, []byte) {
	prefix, err := w.dir(path).Prefix()
	if err != nil {
		w.t.Fatal(err)
	}
	return directory.Root().Metadata(), prefix
}

// link returns the key of the link to a directory in the root.
func (w world) link(name string) []byte {
	m := directory.Root().Metadata()
	return tuple.NewSubspace(m.Keys().Begin).Sub(m.Root(), 0, name).Bytes()
}

// prepared returns a seeded database with a long record, and with what the other packages of this library store.
func prepared(t *testing.T) kv.Database {
	t.Helper()
	engine := enginetest.InProcess(t)
	ctx := t.Context()
	if err := bazaar.Seed(ctx, engine); err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	orders := bazaar.OrderStoreOf(db, "tenant-1")
	long := &bazaar.Order{TenantID: "tenant-1", Number: "L-1", Country: "JP", CreatedAt: time.Unix(1, 0), Photo: bytes.Repeat([]byte("photo"), 50_000)}
	if err := orders.CreateWithID(ctx, idgen.ID(longOrder), long); err != nil {
		t.Fatal(err)
	}
	seedBlobs(t, db)
	store, err := leasefdb.NewStore(engine, leasefdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Acquire(ctx, idgen.AcquireRequest{RequestKey: "boot"}); err != nil {
		t.Fatal(err)
	}
	names, err := leasefdb.NewNames(engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := names.Claim(ctx, engine, "job", leasefdb.Claim{Holder: "host", Duration: time.Minute}); err != nil {
		t.Fatal(err)
	}
	seedOwn(t, engine)
	return engine
}
