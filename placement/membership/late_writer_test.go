// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// heldDatabase is a database that holds its next commit until it is let go; with clears set, the
// next one that clears a key, as evictions do.
type heldDatabase struct {
	kv.Database
	armed, clears atomic.Bool
	reached, goOn chan struct{}
}

func hold(db kv.Database) *heldDatabase {
	return &heldDatabase{Database: db, reached: make(chan struct{}), goOn: make(chan struct{})}
}

func (h *heldDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return h.Database.Transact(ctx, func(tx kv.Transaction) error {
		watched := &heldTx{Transaction: tx}
		if err := fn(watched); err != nil {
			return err
		}
		if (watched.clears || !h.clears.Load()) && h.armed.CompareAndSwap(true, false) {
			close(h.reached)
			<-h.goOn
		}
		return nil
	})
}

type heldTx struct {
	kv.Transaction
	clears bool
}

func (t *heldTx) Clear(key []byte) {
	t.clears = true
	t.Transaction.Clear(key)
}

func (t *heldTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// TestSuspendedRenewal suspends a member between the reads and the commit of a
// renewal until others have evicted it. The renewal is refused, the member is lost, and
// nothing of it comes back.
func TestSuspendedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		suspended := hold(db)
		a := join(t, suspended, "a")
		join(t, db, "b")
		f := follow(t, db)
		time.Sleep(duration)
		suspended.armed.Store(true)
		<-suspended.reached
		time.Sleep(2 * duration)
		f.sees("b")
		close(suspended.goOn)
		time.Sleep(2 * duration)
		f.sees("b")
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		wantError(t, db.Transact(ctx, func(tx kv.Transaction) error { return a.Fence().Check(ctx, tx) }), leasefdb.ErrLeaseLost)
	})
}

// TestLateDrain checks that a member that is evicted between the reads and the commit of a
// change of its row does not write it.
func TestLateDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		slow := hold(db)
		a := join(t, slow, "a")
		drained := make(chan error)
		synctest.Wait() // the member watches its lease, which is also a transaction
		slow.armed.Store(true)
		go func() { drained <- a.Drain(ctx) }()
		<-slow.reached
		if !must[bool](t)(open(t, db).Evict(ctx, a.Member().Owner)) {
			t.Error("it was not evicted")
		}
		close(slow.goOn)
		wantError(t, <-drained, leasefdb.ErrLeaseLost)
		if now := must[placement.Topology](t)(open(t, db).Topology(ctx, db)); len(now.Members) > 0 {
			t.Errorf("it is back: %+v", now)
		}
	})
}

// TestDrainIsNotUndone loses the reply to a drain, and lets the member write its row again, for its
// load.
func TestDrainIsNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		replies := &lossy{Database: db}
		a := join(t, replies, "a")
		replies.armed.Store(true)
		wantError(t, a.Drain(ctx), kv.ErrOutcomeUnknown)
		a.SetLoad(7)
		time.Sleep(2 * duration)
		now := must[placement.Topology](t)(open(t, db).Topology(ctx, db)).Members[0]
		if !now.Draining || now.Load != 7 {
			t.Errorf("draining: %v, load %d", now.Draining, now.Load)
		}
	})
}

// lossy is a database that loses the reply to its next transaction that sets a key.
type lossy struct {
	kv.Database
	armed atomic.Bool
}

func (d *lossy) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	sets := &settingTx{}
	err := d.Database.Transact(ctx, func(tx kv.Transaction) error {
		sets.Transaction = tx
		return fn(sets)
	})
	if err == nil && sets.set && d.armed.CompareAndSwap(true, false) {
		return kv.ErrOutcomeUnknown
	}
	return err
}

type settingTx struct {
	kv.Transaction
	set bool
}

func (t *settingTx) Set(key, value []byte) {
	t.set = true
	t.Transaction.Set(key, value)
}

func (t *settingTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// TestRenewalBeatsEviction lays out an eviction and a renewal of one instant: if the
// renewal commits before the eviction, the member stays; else it is lost. Both never happen.
func TestRenewalBeatsEviction(t *testing.T) {
	for _, first := range []string{"renewal", "eviction"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := enginetest.InProcess(t)
				victim, evictor := &cut{Database: db}, hold(db)
				a, b := join(t, victim, "a"), join(t, evictor, "b")
				time.Sleep(duration)
				victim.off.Store(true)
				evictor.clears.Store(true)
				evictor.armed.Store(true)
				<-evictor.reached
				if first == "renewal" { // of the same grant, beneath the eviction
					check(t, db.Transact(ctx, func(tx kv.Transaction) error {
						tx.Atomic(kv.Add, renewalKey(t, db, "a"), kv.Int64(1))
						return a.Fence().Check(ctx, tx)
					}))
				}
				close(evictor.goOn)
				time.Sleep(latency)
				alive := must[bool](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) (bool, error) {
					return open(t, db).StartAlive(ctx, tx, a.Member().Owner)(ctx)
				}))
				renewal := db.Transact(ctx, func(tx kv.Transaction) error { return a.Fence().Check(ctx, tx) })
				if alive != (first == "renewal") || alive != (renewal == nil) {
					t.Errorf("afterwards the member is alive: %v; a renewal says %v", alive, renewal)
				}
				check(t, b.Context().Err())
			})
		})
	}
}

func renewalKey(t *testing.T, db kv.Database, name string) []byte {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "members"}))
	prefix := must[[]byte](t)(dir.Prefix())
	return append(prefix, "\x02N\x00\x02"+name+"\x00"...)
}
