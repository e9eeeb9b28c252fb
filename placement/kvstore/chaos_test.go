// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
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
// lease, sometimes for longer than a transaction may last: nothing is renewed meanwhile.
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
			_, err := w.home.TryAcquire(ctx, placement.TryAcquire{RequestID: placement.RequestID(i + 1), Key: key, Owner: m.Member().Owner})
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
