// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestRenewalsDoNotConflict lays out that renewals, by whatever handle, between
// the reads and the commit of a fenced transaction leave it alone, and that a
// change of the holder does not.
func TestRenewalsDoNotConflict(t *testing.T) {
	db := enginetest.Open(t)
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
	fenced := func() kv.Transaction {
		tx := begin(t, db)
		check(t, g.Check(ctx, tx))
		tx.Set([]byte("data"), []byte("x"))
		return tx
	}
	tx := fenced()
	for range 3 {
		must[leasefdb.Grant](t)(g.Renew(ctx, db))
	}
	check(t, tx.Commit(ctx))

	// Renewals do not conflict with each other either.
	one, two := begin(t, db), begin(t, db)
	must[leasefdb.Grant](t)(g.Renew(ctx, one))
	must[leasefdb.Grant](t)(g.Renew(ctx, two))
	check(t, one.Commit(ctx))
	check(t, two.Commit(ctx))

	changes := map[string]func(){
		"release": func() { check(t, g.Release(ctx, db)) },
		"break":   func() { check(t, names.Break(ctx, db, "job", g.Epoch)) },
	}
	for name, change := range changes {
		tx, renewal := fenced(), begin(t, db)
		must[leasefdb.Grant](t)(g.Renew(ctx, renewal))
		change()
		if err := tx.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("%s beneath a fenced transaction: %v, want a conflict", name, err)
		}
		if err := renewal.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("%s beneath a renewal: %v, want a conflict", name, err)
		}
		wantError(t, g.Check(ctx, begin(t, db)), leasefdb.ErrLeaseLost)
		g = must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
	}
}

// TestRenewalBeatsTakeover lays out that a renewal that commits between the
// look and the commit of a takeover prevents it.
func TestRenewalBeatsTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		names := openNames(t, db)
		g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{Duration: time.Second}))
		seen := observe(t, names, leasefdb.Observation{})
		time.Sleep(2 * time.Second)
		tx := begin(t, db)
		must[leasefdb.Grant](t)(names.Claim(ctx, tx, "job", leasefdb.Claim{RequestID: "r", Seen: seen}))
		must[leasefdb.Grant](t)(g.Renew(ctx, db))
		if err := tx.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("the takeover: %v, want a conflict", err)
		}
	})
}

// TestZeroFence checks that the zero fence sets no condition.
func TestZeroFence(t *testing.T) {
	db := enginetest.Open(t)
	var f leasefdb.Fence
	check(t, f.Check(ctx, begin(t, db)))
	if !f.IsZero() || len(f.Key()) > 0 {
		t.Error("the zero Fence is not zero")
	}
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
	if f = g.Fence(); f.IsZero() || len(f.Key()) == 0 {
		t.Error("the fence of a grant is zero")
	}
}

// TestContenders lets processes with stalls contend for a name and write to a
// log in the order of commits. No holder may write after a holder with a
// greater epoch. Without the fence the same run breaks the rule: the oracle
// works.
func TestContenders(t *testing.T) {
	run := func(t *testing.T, hostile, fenced bool) (violations int) {
		synctest.Test(t, func(t *testing.T) {
			seed := seed.Of(t)
			db := enginetest.InProcess(t)
			if hostile {
				db = faults.Hostile(db, faults.Options{Seed: seed})
			}
			var group sync.WaitGroup
			rounds := 12
			if testing.Short() {
				rounds = 5
			}
			for i := range 6 {
				p := contender{
					db: db, names: openNames(t, db), fenced: fenced, owner: fmt.Sprint("process ", i),
					rng: rand.New(rand.NewPCG(seed, uint64(i))),
				}
				group.Go(func() {
					for range rounds {
						if err := p.turn(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			log := written(t, db)
			if len(log) < rounds {
				t.Errorf("only %d writes", len(log))
			}
			for i := range log[1:] {
				if log[i+1] < log[i] {
					violations++
				}
			}
			t.Logf("%d writes under %d epochs, %d too late", len(log), log[len(log)-1], violations)
		})
		return violations
	}
	for name, hostile := range map[string]bool{"plain": false, "hostile": true} {
		t.Run(name, func(t *testing.T) {
			if n := run(t, hostile, true); n > 0 {
				t.Errorf("%d writes of processes that had lost the lease", n)
			}
		})
	}
	t.Run("without fence", func(t *testing.T) {
		late := 0
		for tries := 0; late == 0 && tries < 20; tries++ { // a run may lack a stall at the wrong time
			late = run(t, false, false)
		}
		if late == 0 {
			t.Error("without a fence no write came too late: this test would prove nothing")
		}
	})
}

// contender is a process that stalls now and then, as if suspended: it does not
// look at its context, but believes to hold what it once held.
type contender struct {
	db     kv.Database
	names  *leasefdb.Names
	owner  string
	fenced bool
	rng    *rand.Rand
}

var logPrefix = []byte("\x01log")

func (p *contender) turn() error {
	claim := leasefdb.Claim{Holder: p.owner, Duration: time.Second}
	var held leasefdb.Observation
	var g leasefdb.Grant
	for { // Acquire without Keep: a stalled process renews nothing
		var err error
		claim.Seen = held
		if g, err = p.names.Claim(ctx, p.db, "job", claim); err == nil {
			break
		}
		by, isHeld := leasefdb.HeldBy(err)
		if !isHeld {
			return err
		}
		held = held.Observe(by, time.Now())
		time.Sleep(time.Duration(p.rng.IntN(700)) * time.Millisecond)
	}
	for range 1 + p.rng.IntN(3) {
		time.Sleep(time.Duration(p.rng.IntN(1500)) * time.Millisecond)
		if err := p.write(g); err != nil {
			return ignoreLost(err)
		}
	}
	if p.rng.IntN(2) == 0 {
		return g.Release(ctx, p.db)
	}
	return nil
}

// write appends the epoch to the log.
func (p *contender) write(g leasefdb.Grant) error {
	return p.db.Transact(ctx, func(tx kv.Transaction) error {
		if p.fenced {
			if err := g.Check(ctx, tx); err != nil {
				return err
			}
		}
		key := slices.Concat(logPrefix, make([]byte, kv.VersionstampSize), binary.LittleEndian.AppendUint32(nil, uint32(len(logPrefix))))
		tx.Atomic(kv.SetVersionstampedKey, key, binary.BigEndian.AppendUint64(nil, uint64(g.Epoch)))
		return nil
	})
}

// written returns the epochs of the log in the order of commits.
func written(t testing.TB, db kv.Database) (epochs []uint64) {
	t.Helper()
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(logPrefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		epochs = append(epochs, binary.BigEndian.Uint64(pair.Value))
	}
	return epochs
}
