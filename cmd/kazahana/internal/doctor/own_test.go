// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// The directories of this library that seedOwn fills.
const (
	idService = "kazahana/idbuilder"
	actors    = "kazahana/placement"
	members   = "kazahana/members"
)

// ownDamages are damages of the library's own directories.
var ownDamages = []damage{
	{"document", "idservice/bad-document", func(w world) []byte {
		key := w.key(idService, "D", "config", "orders")
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"torn document", "idservice/missing-chunk", func(w world) []byte {
		w.tx.Clear(w.key(idService, "D", "config", "long", 1))
		return w.key(idService, "D", "config", "long")
	}},
	{"chunk without document", "idservice/missing-chunk", func(w world) []byte {
		w.tx.Clear(w.key(idService, "D", "config", "long"))
		return w.key(idService, "D", "config", "long", 1)
	}},
	{"document without expiry", "idservice/missing-expiry", func(w world) []byte {
		w.tx.Clear(w.first(w.key(idService, "Z")).Key)
		return w.key(idService, "D", "reply", "r")
	}},
	{"expiry without document", "idservice/stray-expiry", func(w world) []byte {
		w.tx.Clear(w.key(idService, "D", "reply", "r"))
		return w.first(w.key(idService, "Z")).Key
	}},
	{"sequence", "idservice/bad-document", func(w world) []byte {
		key := w.key(idService, "S", "orders")
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"owner of an actor", "placement/bad-row", func(w world) []byte {
		key := w.key(actors, "F", "account", "alice")
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"actor without owner", "placement/missing-row", func(w world) []byte {
		w.tx.Clear(w.key(actors, "F", "account", "alice"))
		return w.key(actors, "R", "account", "alice", 0)
	}},
	{"torn entry of an actor", "placement/bad-entry", func(w world) []byte {
		key := w.key(actors, "R", "account", "alice", 1)
		w.tx.Set(key, w.get(key)[:7])
		return w.key(actors, "R", "account", "alice")
	}},
	{"row of a member", "member/bad-row", func(w world) []byte {
		key := w.key(members, "M", "bank-1")
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"incarnation of a member", "member/wrong-incarnation", func(w world) []byte {
		key := w.key(members, "M", "bank-1")
		w.tx.Set(key, bytes.Replace(w.get(key), []byte{0x15, 1, 0x15, 1}, []byte{0x15, 1, 0x15, 9}, 1))
		return key
	}},
	{"standby", "name/bad-standby", func(w world) []byte {
		key := w.key("kazahana/elections", "S", "job", -7, "member")
		w.tx.Set(key, []byte{9})
		return key
	}},
	{"short id of a cluster", "member/bad-cluster-id", func(w world) []byte {
		key := w.key(members, "C")
		w.tx.Set(key, w.get(key)[:15])
		return key
	}},
	{"short counter of members", "member/bad-version", func(w world) []byte {
		key := w.key(members, "V")
		w.tx.Set(key, []byte{9})
		return key
	}},
}

// seedOwn writes into the library's own directories.
func seedOwn(t *testing.T, engine kv.Database) {
	t.Helper()
	ctx := t.Context()
	s, err := idstore.New(engine, idstore.Options{})
	check(t, err)
	check(t, s.Init(ctx))
	_, err = s.Reserve(ctx, "orders", store.Reservation{Start: 1000, Step: 1, Count: 100, Bound: 1 << 62})
	check(t, err)
	_, err = s.Put(ctx, store.Configs, store.Document{Key: "orders", Type: "increment", Value: []byte(`{}`)})
	check(t, err)
	_, err = s.Put(ctx, store.Configs, store.Document{Key: "long", Type: "increment", Value: []byte(`{"x":"` + strings.Repeat("x", 150_000) + `"}`)})
	check(t, err)
	_, err = s.Put(ctx, store.Replies, store.Document{Key: "r", Value: []byte(`{}`), Expires: time.Now().Add(time.Hour)})
	check(t, err)

	r, err := membership.New(engine, membership.Options{})
	check(t, err)
	m, err := r.Join(ctx, membership.Self{Name: "bank-1", Address: "10.0.0.1:80"})
	check(t, err)
	p, err := kvstore.New(engine, kvstore.Options{Members: r})
	check(t, err)
	bank := placement.Owner{Name: "bank-1", Incarnation: 1}
	c := core.TryAcquire{RequestID: 7, Key: placement.Key{Kind: "account", ID: "alice"}, Owner: bank, Address: "10.0.0.1:80", Topology: 12}
	l, err := p.TryAcquire(ctx, c)
	check(t, err)
	check(t, p.Store(ctx, l, core.ActivationEntry{
		Owner: bank, Address: c.Address, Epoch: l.Epoch, Topology: 12,
		Record: core.ActivationRecord{PID: "p1", Snapshot: make([]byte, 100_000), Version: 3},
	}))

	t.Cleanup(func() { check(t, m.Leave(context.WithoutCancel(ctx))) })
	_, err = directory.Root().CreateOrOpen(ctx, engine, []string{"kazahana", "elections"})
	check(t, err)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNewerFormats: of a value that a newer version wrote, each decoder says so and names the version to
// run. It speaks of no damage, and of no backup.
func TestNewerFormats(t *testing.T) {
	value, err := tuple.Tuple{int64(9), "v0.9.0", "more"}.Pack()
	check(t, err)
	decoders := map[string]func() error{
		"a store's header": func() error { _, err := format.DecodeCatalog(value); return err },
		"a former header":  func() error { _, err := format.DecodeFormer(value); return err },
		"a work list":      func() error { _, err := build.DecodeMembers(value); return err },
		"a tenant":         func() error { _, err := tenancy.Decode(value); return err },
		"a named lease":    func() error { _, err := leasefdb.DecodeState("n", value, nil); return err },
		"a standby": func() error {
			_, err := election.DecodeStandby(tuple.AppendString(tuple.AppendInt(nil, -1), "m"), value)
			return err
		},
		"a member": func() error { _, err := membership.DecodeMember("m", value); return err },
		"an owner": func() error { _, err := kvstore.DecodeRow(placement.Key{}, value); return err },
		"an entry": func() error { _, err := kvstore.DecodeEntry(value); return err },
		"a document": func() error {
			_, _, err := idstore.DecodeHead(value)
			return &store.CorruptError{Where: "k", Reason: "damaged", Err: err}
		},
		"a sequence": func() error { _, err := idstore.DecodeSequence(value); return err },
	}
	for name, decode := range decoders {
		err := decode()
		text := fmt.Sprint(err)
		var remedy *format.Error
		if errors.As(err, &remedy) {
			text += ": " + remedy.Remedy
		}
		if !errors.Is(err, lease.ErrNewer) || !strings.Contains(text, "run version v0.9.0 or later") || strings.Contains(text, "damaged") || strings.Contains(text, "backup") {
			t.Errorf("%s: %v", name, text)
		}
	}
	if _, err := format.ParseRecord([]byte{2, 0}); !errors.Is(err, lease.ErrNewer) {
		t.Errorf("a record: %v", err)
	}
}
