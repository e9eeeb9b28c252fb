// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestChaos: three workers contend for keys for minutes of virtual time. They pause in the middle
// of transactions, are cut off, and die. Their writes are in the order of epochs, and afterwards
// all keys can be claimed within two and a half leases.
func TestChaos(t *testing.T) {
	for name, hostile := range map[string]bool{"plain": false, "hostile": true} {
		t.Run(name, func(t *testing.T) {
			if faults := runChaos(t, hostile, true); len(faults) > 0 {
				t.Errorf("%d violations: %.500v", len(faults), faults)
			}
		})
	}
}

// TestChaosWithoutFence checks that the oracle finds violations: without the fence, one of twenty
// runs has some. A short run alone may have none by luck.
func TestChaosWithoutFence(t *testing.T) {
	for range 20 {
		if len(runChaos(t, false, false)) > 0 {
			return
		}
	}
	t.Error("no violation in 20 runs")
}

// runChaos returns the violations of a run.
func runChaos(t *testing.T, hostile, fenced bool) (found []string) {
	synctest.Test(t, func(t *testing.T) {
		seed := seed.Of(t)
		db := enginetest.InProcess(t)
		if hostile {
			db = faults.Hostile(db, faults.Options{Seed: seed})
		}
		disturb(t, db, seed, fenced)
		if found = checkLog(t, db); fenced {
			checkHealing(t, db, 5*chaosLease/2)
		}
	})
	return found
}

// disturb runs three workers, of which one after the other dies or is cut off.
func disturb(t *testing.T, db kv.Database, seed uint64, fenced bool) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var group sync.WaitGroup
	processes := make([]*process, 3)
	for i := range processes {
		processes[i] = startProcess(t, &group, db, fmt.Sprint("worker ", i), rng.Uint64(), fenced)
	}
	rounds := 30
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		time.Sleep(time.Duration(rng.Int64N(int64(2 * chaosLease))))
		i := rng.IntN(len(processes))
		if p := processes[i]; rng.IntN(2) == 0 {
			p.off.Store(true)
			p.kill()
			processes[i] = startProcess(t, &group, db, p.name, rng.Uint64(), fenced)
		} else {
			p.off.Store(true)
			time.Sleep(time.Duration(rng.Int64N(int64(2 * chaosLease))))
			p.off.Store(false)
		}
	}
	for _, p := range processes {
		p.kill()
	}
	group.Wait()
}

// process is a worker that can be killed, or cut off from the database.
type process struct {
	kv.Database
	name string
	off  atomic.Bool
	kill context.CancelFunc
}

func startProcess(t *testing.T, group *sync.WaitGroup, db kv.Database, name string, seed uint64, fenced bool) *process {
	p := &process{Database: db, name: name}
	w := newWorker(t, p, name, seed)
	w.fenced, w.pause = fenced, p.pauseSometimes
	var running context.Context
	running, p.kill = context.WithCancel(t.Context())
	group.Go(func() { w.runWorker(running) })
	return p
}

// pauseSometimes suspends the process in the middle of a transaction, often for longer than a
// lease, sometimes for longer than a transaction may last: nothing is renewed during the pause.
func (p *process) pauseSometimes(rng *rand.Rand) {
	if rng.IntN(60) == 0 {
		p.off.Store(true)
		time.Sleep(time.Duration(rng.Int64N(int64(4 * chaosLease))))
		p.off.Store(false)
	}
}

var errCutOff = kv.NewError(kv.CodeTransactionTimedOut, "cut off")

func (p *process) Begin() (kv.Transaction, error) {
	if p.off.Load() {
		return nil, errCutOff
	}
	return p.Database.Begin()
}

func (p *process) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	if p.off.Load() {
		return errCutOff
	}
	return p.Database.Transact(ctx, fn)
}

func (p *process) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if p.off.Load() {
		return errCutOff
	}
	return p.Database.ReadTransact(ctx, fn)
}

// checkLog returns the violations in the logs of all keys. There must be effects of
// several epochs.
func checkLog(t testing.TB, db kv.Database) (faults []string) {
	t.Helper()
	writes, epochs := 0, int64(0)
	for _, key := range chaosKeys() {
		log := effects(t, db, key)
		faults = append(faults, violations(log)...)
		writes += len(log)
		for _, e := range log[max(0, len(log)-1):] {
			epochs += e.epoch
		}
	}
	t.Logf("%d effects in %d epochs", writes, epochs)
	if keys := len(chaosKeys()); writes < 10*keys || epochs < int64(3*keys) {
		t.Errorf("only %d effects in %d epochs", writes, epochs)
	}
	return faults
}

// checkHealing checks that a new member can claim all keys within a bound.
func checkHealing(t testing.TB, db kv.Database, within time.Duration) {
	t.Helper()
	w := newWorker(t, db, "healer", 1)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	m := must[*membership.Member](t)(w.members.Join(ctx, membership.Self{Name: w.name}))
	defer func() { check(t, m.Leave(context.WithoutCancel(ctx))) }()
	for i, key := range chaosKeys() {
		for {
			_, err := w.home.TryAcquire(ctx, core.TryAcquire{RequestID: placement.RequestID(i + 1), Key: key, Owner: m.Member().Owner})
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s cannot be claimed within %v: %v", key, within, err)
			}
			_ = sleep.For(ctx, chaosLease/20)
		}
	}
}

// worker is a process that claims keys and writes effects of them into a log, under their
// fences. It ignores the context of its membership: it writes until a fence refuses, and
// joins again when its claims are refused.
type worker struct {
	db      kv.Database
	home    *kvstore.Store
	members *membership.Registry
	name    string
	rng     *rand.Rand
	fenced  bool
	pause   func(*rand.Rand) // in the middle of a transaction; nil: no pauses
}

// chaosLease is how long the leases of workers last.
const chaosLease = 2 * time.Second

func newWorker(t testing.TB, db kv.Database, name string, seed uint64) *worker {
	t.Helper()
	members := must[*membership.Registry](t)(membership.New(db, membership.Options{Duration: chaosLease}))
	home := must[*kvstore.Store](t)(kvstore.New(db, kvstore.Options{Members: members}))
	return &worker{db: db, home: home, members: members, name: name, rng: rand.New(rand.NewPCG(seed, 0)), fenced: true}
}

// chaosKeys are the keys that workers contend for.
func chaosKeys() (keys []placement.Key) {
	for i := range 6 {
		keys = append(keys, placement.Key{Kind: "account", ID: fmt.Sprint(i)})
	}
	return keys
}

// tenure is a claim of a key that the worker believes to have.
type tenure struct {
	lease core.Lease
	seq   int64 // of its last effect
}

// runWorker works until ctx ends.
func (w *worker) runWorker(ctx context.Context) {
	for ctx.Err() == nil {
		m, err := w.members.Join(ctx, membership.Self{Name: w.name, Address: w.name})
		if err != nil {
			_ = sleep.For(ctx, chaosLease/10)
			continue
		}
		w.runIncarnation(ctx, m.Member().Owner)
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = m.Leave(leaving) // a worker that is cut off gets an error
		cancel()
	}
}

// runIncarnation works as one incarnation, until its claims are refused.
func (w *worker) runIncarnation(ctx context.Context, self placement.Owner) {
	keys, has := chaosKeys(), map[placement.Key]*tenure{}
	for request := placement.RequestID(1); ctx.Err() == nil; request++ {
		key := keys[w.rng.IntN(len(keys))]
		t := has[key]
		var err error
		switch dice := w.rng.IntN(20); {
		case t == nil:
			t = &tenure{}
			t.lease, err = w.home.TryAcquire(ctx, core.TryAcquire{RequestID: request, Key: key, Owner: self, Address: w.name})
			if err == nil {
				has[key] = t
			} else if errors.Is(err, placement.ErrStale) {
				return
			}
		case dice == 0:
			_ = w.home.Remove(ctx, key, self, t.lease.Epoch) // after an error, the key is claimed again, or lost
			delete(has, key)
		case dice < 5:
			err = w.home.Store(ctx, t.lease, entryOf(t.lease, fmt.Append(nil, t.seq)))
		default:
			err = w.logEffect(ctx, t)
		}
		if errors.Is(err, leasefdb.ErrLeaseLost) || t.lease.Epoch > 0 && errors.Is(err, placement.ErrStale) {
			delete(has, key)
		}
		_ = sleep.For(ctx, time.Duration(w.rng.Int64N(int64(chaosLease/100))))
	}
}

// logEffect logs an effect, once.
func (w *worker) logEffect(ctx context.Context, t *tenure) error {
	db := w.db
	if w.fenced {
		db = w.home.Fence(t.lease.Key, t.lease.Owner, t.lease.Epoch).Under(db)
	}
	t.seq++
	now := effect{t.lease.Epoch, t.seq, t.lease.Owner.String()}
	return db.Transact(ctx, func(tx kv.Transaction) error {
		last, err := tx.Get(effectKey("last", t.lease.Key)).Get(ctx)
		if err != nil || string(last) == string(now.encode()) { // the earlier attempt has committed
			return err
		}
		tx.Set(effectKey("last", t.lease.Key), now.encode())
		at := effectKey("log", t.lease.Key)
		stamped := append(at, make([]byte, kv.VersionstampSize+4)...)
		stamped[len(at)+kv.VersionstampSize] = byte(len(at))
		tx.Atomic(kv.SetVersionstampedKey, stamped, now.encode())
		if w.pause != nil {
			w.pause(w.rng)
		}
		return nil
	})
}

// effect is an entry of a worker's log.
type effect struct {
	epoch, seq int64
	owner      string
}

func (e effect) encode() []byte {
	return tuple.AppendString(tuple.AppendInt(tuple.AppendInt(nil, e.epoch), e.seq), e.owner)
}

func effectKey(what string, key placement.Key) []byte {
	return tuple.AppendString(tuple.AppendString(nil, what), key.String())
}

// effects returns the log of a key in the order of commits.
func effects(t testing.TB, db kv.Database, key placement.Key) (all []effect) {
	t.Helper()
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(effectKey("log", key)).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		elements := must[tuple.Tuple](t)(tuple.Unpack(pair.Value))
		all = append(all, effect{elements[0].(int64), elements[1].(int64), elements[2].(string)})
	}
	return all
}

// violations returns the faults in the log of a key: effects that are not in the order of epochs,
// that have two owners in one epoch, or that are out of order or doubled within one.
func violations(log []effect) (faults []string) {
	owners := map[int64]string{}
	for i, e := range log {
		if owner, known := owners[e.epoch]; known && owner != e.owner {
			faults = append(faults, fmt.Sprintf("%s wrote in epoch %d of %s", e.owner, e.epoch, owner))
		}
		owners[e.epoch] = e.owner
		if i == 0 {
			continue
		}
		if before := log[i-1]; e.epoch < before.epoch || e.epoch == before.epoch && e.seq <= before.seq {
			faults = append(faults, fmt.Sprintf("%+v was written after %+v", e, before))
		}
	}
	return faults
}
