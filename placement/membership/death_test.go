// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// TestManyDeaths lets three quarters of a cluster die at once. The others evict each of
// them once, within four durations, and no other member.
func TestManyDeaths(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		members, deaths := 40, 30
		if hostile(t) {
			members, deaths = 16, 12
		}
		dying := &cut{Database: db}
		var living []*membership.Member
		for i := range members {
			if name := fmt.Sprintf("m%02d", i); i < deaths {
				join(t, dying, name)
			} else {
				living = append(living, join(t, db, name))
			}
		}
		registry := open(t, db)
		now := func() placement.Topology { return must[placement.Topology](t)(registry.Topology(ctx, db)) }
		time.Sleep(2 * duration)
		before := now()
		if len(before.Members) != members {
			t.Fatalf("%d members have joined", len(before.Members))
		}
		dying.off.Store(true)
		began := time.Now()
		for len(now().Members) > members-deaths && time.Since(began) < 10*duration {
			time.Sleep(duration / 10)
		}
		took := time.Since(began)
		if took > 4*duration {
			t.Errorf("the evictions took %v", took)
		}
		time.Sleep(2 * duration)
		after := now()
		if n := len(after.Members); n != members-deaths || after.Version != before.Version+int64(deaths) {
			t.Errorf("%d members are left; %d changes of the version for %d deaths", n, after.Version-before.Version, deaths)
		}
		for _, m := range living {
			check(t, m.Context().Err())
		}
		dying.off.Store(false)
	})
}

// TestOutages checks that no member is evicted in an hour on an engine that loses
// acknowledgements and lets versions jump, with outages of the database of half a lease.
func TestOutages(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		all := &cut{Database: db}
		var members []*membership.Member
		for i := range 5 {
			members = append(members, join(t, all, fmt.Sprint("m", i)))
		}
		registry := open(t, db)
		before := must[placement.Topology](t)(registry.Topology(ctx, db))
		rounds := 30
		if hostile(t) || testing.Short() {
			rounds = 2
		}
		for range rounds {
			time.Sleep(duration * 10)
			all.off.Store(true)
			time.Sleep(duration / 2) // a renewal may have been due a third of a lease after the one before, and waits for a second at most
			all.off.Store(false)
		}
		for _, m := range members {
			check(t, context.Cause(m.Context()))
		}
		if after := must[placement.Topology](t)(registry.Topology(ctx, db)); after.Version != before.Version {
			t.Errorf("the topology has changed: %+v, then %+v", before, after)
		}
	})
}

// held is a database whose next commit waits until it is let go on; with clears set the
// next one that clears a key, as evictions do.
type held struct {
	kv.Database
	armed, clears atomic.Bool
	reached, goOn chan struct{}
}

func hold(db kv.Database) *held {
	return &held{Database: db, reached: make(chan struct{}), goOn: make(chan struct{})}
}

func (h *held) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
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
		synctest.Wait() // the member watches its lease, which is a transaction, too
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

// TestOrphans checks that what is left of a member whose lease was taken away otherwise
// is removed by the others.
func TestOrphans(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		a, f := join(t, db, "a"), follow(t, db)
		join(t, db, "b")
		names := must[*leasefdb.Names](t)(leasefdb.NewNames(db, leasefdb.NameOptions{Path: []string{"kazahana", "members"}}))
		check(t, names.Break(ctx, db, "a", a.Member().Incarnation))
		time.Sleep(2 * latency)
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		time.Sleep(duration)
		f.sees("b")
	})
}

// TestDeathAfterLateRenewal has a member renew its lease beneath its eviction, and die then. The
// observer, which has given that eviction up, evicts it after a further lease.
func TestDeathAfterLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		victim, evictor := &cut{Database: db}, hold(db)
		a, f := join(t, victim, "a"), follow(t, db)
		join(t, evictor, "b")
		time.Sleep(duration)
		victim.off.Store(true)
		evictor.clears.Store(true)
		evictor.armed.Store(true)
		<-evictor.reached
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { // the last renewal, which took long
			tx.Atomic(kv.Add, renewalKey(t, db, "a"), kv.Int64(1))
			return a.Fence().Check(ctx, tx)
		}))
		close(evictor.goOn)
		time.Sleep(duration / 2)
		f.sees("a", "b")
		time.Sleep(duration)
		f.sees("b")
	})
}

// TestEvict checks that an operator can evict a member at once, and only that incarnation.
func TestEvict(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		registry, f := open(t, db), follow(t, db)
		a := join(t, db, "a")
		time.Sleep(2 * latency)
		f.sees("a")
		for _, owner := range []placement.Owner{{Name: "a", Incarnation: 2}, {Name: "b", Incarnation: 1}} {
			if must[bool](t)(registry.Evict(ctx, owner)) {
				t.Errorf("%v was evicted", owner)
			}
		}
		_, err := registry.Evict(ctx, a.Member().Owner) // on the hostile engine a repetition finds it done
		check(t, err)
		time.Sleep(2 * latency)
		f.sees()
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		if must[bool](t)(registry.Evict(ctx, a.Member().Owner)) {
			t.Error("evicted twice")
		}
	})
}

// TestJumps checks that a recovery, after which versions are a hundred seconds higher, ends no
// membership.
func TestJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := kvtest.Hostile(enginetest.InProcess(t), kvtest.HostileOptions{Seed: kvtest.SeedT(t)})
		a, b := join(t, db, "a"), join(t, db, "b")
		for range 50 {
			for range 20 { // each may jump
				check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("data"), nil); return nil }))
			}
			time.Sleep(duration / 2)
		}
		check(t, context.Cause(a.Context()))
		check(t, context.Cause(b.Context()))
	})
}
