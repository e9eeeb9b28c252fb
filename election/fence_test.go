// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestDeposedLeaderCannotWrite suspends a leader until another leads, and in the middle of
// a transaction. Its writes are refused. Without the fence the same writes are made.
func TestDeposedLeaderCannotWrite(t *testing.T) {
	for name, fenced := range map[string]bool{"fenced": true, "without fence": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := enginetest.InProcess(t)
				suspended := &cut{Database: engine}
				terms := make(chan event, 10)
				a := start(t, suspended, short("a"), terms)
				old := <-terms
				b := start(t, engine, short("b"), terms)
				db := engine
				if fenced {
					db = old.term.Under(engine)
				}
				write := func(between func()) error {
					return db.Transact(ctx, func(tx kv.Transaction) error {
						_, err := tx.Get([]byte("log")).Get(ctx)
						tx.Set([]byte("log"), nil)
						between()
						return err
					})
				}
				check(t, write(func() {}))
				err := write(func() { // it is suspended here, and b leads
					suspended.off.Store(true)
					if old.ctx.Err() == nil {
						<-terms
					}
				})
				late := write(func() {})
				if !fenced {
					check(t, err)
					check(t, late)
				} else {
					wantError(t, err, election.ErrDeposed)
					wantError(t, late, election.ErrDeposed)
					if kv.IsRetryable(late) {
						t.Error("the error is retryable")
					}
				}
				suspended.off.Store(false)
				a.stop(t)
				b.stop(t)
			})
		})
	}
}

// TestTermsDoNotInterleave lets candidates that stall and are cut off contend, and write to
// a log in the order of commits, heedless of their contexts. Ranks only grow in the log. Without
// the fence the same run breaks the rule: the test can fail.
func TestTermsDoNotInterleave(t *testing.T) {
	for _, c := range []struct {
		name            string
		hostile, fenced bool
	}{{"plain", false, true}, {"hostile", true, true}, {"without fence", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seed := seed.Of(t)
				db := enginetest.InProcess(t)
				if c.hostile {
					db = faults.Hostile(db, faults.Options{Seed: seed})
				}
				writes, late := contend(t, db, seed, c.fenced)
				for more := seed + 1; !c.fenced && late == 0 && more < seed+20; more++ {
					writes, late = contend(t, db, more, c.fenced) // a short run may lack a stall at the wrong time
				}
				if c.fenced && late > 0 {
					t.Errorf("%d writes of leaders that were deposed", late)
				}
				if !c.fenced && late == 0 {
					t.Error("without a fence no write came too late: this test would prove nothing")
				}
				t.Logf("%d writes, %d too late", writes, late)
			})
		})
	}
}

// contend lets five candidates lead and stall for a while. It returns how many
// writes there were, and how many of them followed one of a greater rank.
func contend(t *testing.T, db kv.Database, seed uint64, fenced bool) (writes, late int) {
	long := time.Minute
	if testing.Short() {
		long /= 3
	}
	running, stop := context.WithTimeout(ctx, long)
	defer stop()
	var group sync.WaitGroup
	for i := range 5 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		own := &cut{Database: db}
		e := newElection(t, own, election.Options{Duration: time.Second, ElectionTimeout: 300 * time.Millisecond})
		group.Go(func() {
			err := e.Run(running, func(_ context.Context, term election.Term) error {
				for range rng.IntN(6) {
					own.off.Store(rng.IntN(3) == 0)
					time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
					to := db
					if fenced {
						to = term.Under(db)
					}
					if err := appendRank(to, term.Rank()); err != nil {
						return err
					}
				}
				own.off.Store(false)
				return nil
			})
			if !asEnded(err) {
				t.Error(err)
			}
		})
		context.AfterFunc(running, func() { own.off.Store(false) })
	}
	group.Wait()
	log := ranks(t, db)
	for i := range log[1:] {
		if log[i+1] < log[i] {
			late++
		}
	}
	if len(log) < 10 {
		t.Errorf("only %d writes", len(log))
	}
	return len(log), late
}

var logPrefix = []byte("\x01log")

// appendRank writes a rank at the end of the log, by the commit's versionstamp.
func appendRank(db kv.Database, rank int64) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		key := slices.Concat(logPrefix, make([]byte, kv.VersionstampSize), binary.LittleEndian.AppendUint32(nil, uint32(len(logPrefix))))
		tx.Atomic(kv.SetVersionstampedKey, key, binary.BigEndian.AppendUint64(nil, uint64(rank)))
		return nil
	})
}

// ranks returns the log.
func ranks(t testing.TB, db kv.Database) (log []uint64) {
	t.Helper()
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(logPrefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		log = append(log, binary.BigEndian.Uint64(pair.Value))
	}
	return log
}
