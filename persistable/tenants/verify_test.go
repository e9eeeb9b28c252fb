// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// A tenant moves to another database: from the lock to the end no program writes to it here or
// there, and each step can be repeated.
func TestMoveToAnotherDatabase(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		shop(t, db)
		before := contents(t, db, "tenants", "a")
		other := open(t, faults.HostileT(t, enginetest.Open(t)))
		someOrders(t, other, "already there", 3)
		from, to := tenants.Of(db, "tenants"), tenants.Of(other, "tenants")
		lock := must[tenants.Lock](t)(from.Lock(ctx, "a", "moves away"))
		var stream bytes.Buffer
		must[tenants.Progress](t)(from.Export(ctx, "a", &stream, tenants.ExportOptions{Lock: lock}))
		was := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(stream.Bytes())))
		if was.LockID != lock.ID {
			t.Errorf("the stream has the lock %q, want %q", was.LockID, lock.ID)
		}
		var again bytes.Buffer
		must[tenants.Progress](t)(from.Export(ctx, "a", &again, tenants.ExportOptions{Lock: lock}))
		var first tenants.Progress
		for i := range 2 {
			p := must[tenants.Progress](t)(to.Import(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{LockReason: "it arrives"}))
			if i == 0 {
				first = p
			} else if p.Pairs != first.Pairs || p.Bytes != first.Bytes {
				t.Errorf("the import once more: %+v, want %+v", p, first)
			}
		}
		wantError(t, second(to.Import(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{})), tenants.ErrExists)
		wantError(t, second(to.Import(ctx, "b", &again, tenants.ImportOptions{LockReason: "another stream"})), tenants.ErrExists)
		s := OrderStoreOf(other, "b")
		wantAs[*persistable.LockedError](t, s.Create(ctx, s.New(Order{Number: "new", CreatedAt: day0})))
		arrived, _, err := to.LockOf(ctx, "b")
		check(t, err)
		for range 2 {
			must[tenants.Progress](t)(to.Verify(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.VerifyOptions{Lock: arrived}))
		}

		wantError(t, to.DeleteLocked(ctx, tenants.Lock{Tenant: "b", ID: was.LockID}), tenants.ErrLockLost)
		wantError(t, to.DeleteLocked(ctx, tenants.Lock{Tenant: "b"}), tenants.ErrLockLost)
		wantError(t, from.DeleteLocked(ctx, tenants.Lock{Tenant: "none", ID: was.LockID}), tenants.ErrNotFound)
		check(t, from.DeleteLocked(ctx, tenants.Lock{Tenant: "a", ID: was.LockID}))
		wantError(t, from.DeleteLocked(ctx, lock), tenants.ErrNotFound)
		check(t, to.Unlock(ctx, arrived))
		equal(t, before, contents(t, other, "tenants", "b"))
		check(t, s.Create(ctx, s.New(Order{Number: "new", CreatedAt: day0})))
		sound(t, s.Indexes().Verify)
	})
}

// Verify finds each key that was changed, added or removed, and other directories.
func TestVerifyFindsDifferences(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms := tenants.Of(db, "rooms")
	s := NoteStoreOf(db, "a")
	someNotes(t, s, "a", 10)
	programKeys(t, db, "rooms", "a")
	stream := export(t, rooms, "a")
	verify := func(stream []byte) error {
		return second(rooms.Verify(ctx, "a", bytes.NewReader(stream), tenants.VerifyOptions{}))
	}
	check(t, verify(stream))
	wantAs[*tenants.StreamError](t, verify(stream[:len(stream)-1]))
	wantAs[*tenants.StreamError](t, verify(stream[:len(stream)-30]))
	wantError(t, second(rooms.Verify(ctx, "none", bytes.NewReader(stream), tenants.VerifyOptions{})), tenants.ErrNotFound)
	var all []kv.KeyValue
	for _, d := range must[[]*directory.Directory](t)(db.Layer().Subtree(ctx, db.Engine(), []string{"rooms", "a"})) {
		if d.IsPartition() {
			continue
		}
		all = append(all, must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db.Engine(), func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
			return tx.GetRange(d.Reserve().Selectors(), kv.RangeOptions{}).Slice(ctx)
		}))...)
	}
	change := func(fn func(kv.Transaction)) {
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { fn(tx); return nil }))
	}
	for _, pair := range []kv.KeyValue{all[0], all[len(all)/2], all[len(all)-1]} {
		for what, fn := range map[string]func(kv.Transaction){
			"a value":  func(tx kv.Transaction) { tx.Set(pair.Key, []byte("changed")) },
			"one more": func(tx kv.Transaction) { tx.Set(append(bytes.Clone(pair.Key), "more"...), nil) },
			"one less": func(tx kv.Transaction) { tx.Clear(pair.Key) },
		} {
			change(fn)
			if err := verify(stream); !errors.Is(err, tenants.ErrDifferent) {
				t.Errorf("%s at %x: %v", what, pair.Key, err)
			}
			change(func(tx kv.Transaction) {
				tx.Clear(append(bytes.Clone(pair.Key), "more"...))
				tx.Set(pair.Key, pair.Value)
			})
		}
	}
	check(t, verify(stream))
	must[*directory.Directory](t)(db.Layer().CreateOrOpen(ctx, db.Engine(), []string{"rooms", "a", "one more"}))
	wantError(t, verify(stream), tenants.ErrDifferent)
}
