// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

var (
	_ driver.Lock    = (*kvstore.Store)(nil)
	_ driver.Storage = (*kvstore.Store)(nil)
)

var (
	ctx   = context.Background()
	alice = placement.Key{Kind: "account", ID: "alice"}
	one   = placement.Owner{Name: "one", Incarnation: 1}
	two   = placement.Owner{Name: "two", Incarnation: 1}
)

// members is a [kvstore.Liveness] without package membership: a key for each name has the
// smallest incarnation that is alive.
type members struct{}

func (members) StartAlive(_ context.Context, tx kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error) {
	read := tx.Get([]byte("members/" + owner.Name))
	return func(ctx context.Context) (bool, error) {
		value, err := read.Get(ctx)
		if err != nil {
			return false, err
		}
		return value == nil || owner.Incarnation >= int64(binary.LittleEndian.Uint64(value)), nil
	}
}

// kill ends the life of an owner, as part of t.
func kill(t testing.TB, db kv.Transactor, owner placement.Owner) {
	t.Helper()
	check(t, db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("members/"+owner.Name), kv.Int64(owner.Incarnation+1))
		return nil
	}))
}

// open returns a store on a database.
func open(t testing.TB, db kv.Database) *kvstore.Store {
	t.Helper()
	return must[*kvstore.Store](t)(kvstore.New(db, kvstore.Options{Members: members{}}))
}

// onEngines runs a test on the engine as it is, and on the hostile one.
func onEngines(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) { test(t, enginetest.Open(t)) })
	t.Run("hostile", func(t *testing.T) { test(t, faults.HostileT(t, enginetest.Open(t))) })
}

func claimOf(key placement.Key, owner placement.Owner, request placement.RequestID) core.TryAcquire {
	return core.TryAcquire{RequestID: request, Key: key, Owner: owner, Address: owner.Name + ":80", Topology: 3}
}

// acquire claims a key for an owner.
func acquire(t testing.TB, s *kvstore.Store, key placement.Key, owner placement.Owner, request placement.RequestID) core.Lease {
	t.Helper()
	return must[core.Lease](t)(s.TryAcquire(ctx, claimOf(key, owner, request)))
}

func entryOf(l core.Lease, snapshot []byte) core.ActivationEntry {
	return core.ActivationEntry{
		Owner: l.Owner, Address: l.Owner.Name + ":80", Epoch: l.Epoch, Topology: 3,
		Record: core.ActivationRecord{PID: l.Key.String(), Snapshot: snapshot, Version: 9},
	}
}

func begin(t testing.TB, db kv.Database) kv.Transaction {
	t.Helper()
	tx := must[kv.Transaction](t)(db.Begin())
	t.Cleanup(tx.Cancel)
	return tx
}

// prefixOf returns the prefix of the directory.
func prefixOf(t testing.TB, db kv.Database) []byte {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "placement"}))
	return must[[]byte](t)(dir.Prefix())
}

// pairs returns everything in the directory.
func pairs(t testing.TB, db kv.Database) []kv.KeyValue {
	t.Helper()
	prefix := prefixOf(t, db)
	return must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}
