// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// cut is the database of a process that can be cut off from it, as by a crash or a
// network: its transactions then fail for as long as that lasts.
type cut struct {
	kv.Database
	off, noWatches atomic.Bool
	refuses        bool // the whole transaction if noWatches, else the watch alone
}

func (c *cut) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return c.Database.Transact(ctx, func(tx kv.Transaction) error {
		if c.off.Load() {
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		watches := new(atomic.Bool)
		if err := fn(cutTx{tx, c, watches}); err != nil {
			return err
		}
		if c.refuses && watches.Load() {
			return kv.NewError(kv.CodeTooManyWatches, "made up")
		}
		return nil
	})
}

type cutTx struct {
	kv.Transaction
	cut     *cut
	watches *atomic.Bool // it asked for a watch that it did not get
}

// Transact has what takes part in the transaction see it as it is.
func (t cutTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t cutTx) Watch(key []byte) kv.Future[struct{}] {
	if t.cut.noWatches.Load() {
		t.watches.Store(true)
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTooManyWatches, "made up")))
	}
	return t.Transaction.Watch(key)
}

// latency bounds what a transaction and a watch take in virtual time: nothing on the
// plain engine, some milliseconds on the hostile one.
const latency = 100 * time.Millisecond

// TestCrash checks that the next leader leads a lease and an election timeout after the
// last renewal of a leader that has died, at the latest; not before its lease has lapsed; and
// that by then its context has ended.
func TestCrash(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		terms := make(chan event, 10)
		databases := map[string]*cut{}
		processes := map[string]*process{}
		for _, name := range []string{"a", "b", "c"} {
			databases[name] = &cut{Database: db}
			processes[name] = start(t, databases[name], short(name), terms)
		}
		leader := <-terms
		for round := range 5 {
			time.Sleep(time.Duration(7*round+20)*time.Second + 123*time.Millisecond)
			databases[leader.who].off.Store(true)
			died := time.Now()
			next := <-terms
			if took := next.at.Sub(died); took > lease+window+latency || took < lease*2/3-latency {
				t.Errorf("round %d: %s leads %v after the death of %s", round, next.who, took, leader.who)
			}
			if next.who == leader.who || next.term.Rank() <= leader.term.Rank() {
				t.Errorf("round %d: %s under rank %d follows %s under rank %d", round, next.who, next.term.Rank(), leader.who, leader.term.Rank())
			}
			if leader.ctx.Err() == nil {
				t.Errorf("round %d: two lead", round)
			}
			wantError(t, context.Cause(leader.ctx), election.ErrDeposed)
			databases[leader.who].off.Store(false)
			leader = next
		}
		for _, p := range processes {
			p.stop(t)
		}
	})
}

// TestResignation checks that a leader that resigns, or that ends with its process in order, is
// followed within one latency of a watch.
func TestResignation(t *testing.T) {
	ends := map[string]func(t *testing.T, p *process){
		"Resign": func(t *testing.T, p *process) {
			if !p.Resign() {
				t.Error("there was no term to end")
			}
		},
		"end of ctx": func(t *testing.T, p *process) { p.stop(t) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, db kv.Database) {
				terms := make(chan event, 10)
				processes := map[string]*process{}
				for _, name := range []string{"a", "b", "c"} {
					processes[name] = start(t, db, short(name), terms)
				}
				leader := <-terms
				time.Sleep(time.Minute)
				resigned := time.Now()
				end(t, processes[leader.who])
				next := <-terms
				if took := next.at.Sub(resigned); took > latency {
					t.Errorf("%s followed after %v", next.who, took)
				}
				if next.who == leader.who {
					t.Error("the one that resigned leads again")
				}
				if name == "Resign" {
					wantError(t, context.Cause(leader.ctx), election.ErrResigned)
				} else {
					delete(processes, leader.who)
				}
				for _, p := range processes {
					p.stop(t)
				}
			})
		})
	}
}

// TestContextEndsBeforeTheLease checks that a leader that cannot renew is told when its
// lease ends, counted from before the claim began; and that it leads again afterwards.
func TestContextEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &slow{cut: cut{Database: enginetest.InProcess(t)}}
		db.delay.Store(int64(time.Second)) // from the commit to its acknowledgement
		terms := make(chan event, 10)
		began := time.Now()
		p := start(t, db, short("a"), terms)
		first := <-terms
		if late := first.at.Sub(began); late < 2*time.Second {
			t.Fatalf("the replies were not late: %v", late)
		}
		db.off.Store(true)
		<-first.ctx.Done()
		// The look took one delay, then the claim began.
		if lasted := time.Since(began) - time.Second; lasted != lease {
			t.Errorf("the context lasted %v from before the claim, want %v", lasted, lease)
		}
		lost := new(leasefdb.LostError)
		if cause := context.Cause(first.ctx); !asLost(cause, &lost) || lost.Epoch != first.term.Rank() {
			t.Errorf("the cause is %v", cause)
		}
		db.off.Store(false)
		second := <-terms
		if second.term.Rank() <= first.term.Rank() {
			t.Errorf("the second term has rank %d", second.term.Rank())
		}
		p.stop(t)
	})
}

// slow is a database that acknowledges commits late.
type slow struct {
	cut
	delay atomic.Int64
}

func (s *slow) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	err := s.cut.Transact(ctx, fn)
	time.Sleep(time.Duration(s.delay.Load()))
	return err
}

// TestWithoutWatches checks that elections work where no watch can be had, a look
// later: where the watch fails, and where its transaction does.
func TestWithoutWatches(t *testing.T) {
	for name, refuses := range map[string]bool{"the watch fails": false, "the transaction fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testWithoutWatches(t, refuses) })
		})
	}
}

func testWithoutWatches(t *testing.T, refuses bool) {
	db := enginetest.InProcess(t)
	terms := make(chan event, 10)
	processes := map[string]*process{}
	begin := func(name string) {
		blind := &cut{Database: db, refuses: refuses}
		blind.noWatches.Store(true)
		processes[name] = start(t, blind, short(name), terms)
	}
	begin("a")
	begin("b")
	leader := <-terms
	for round := range time.Duration(8) {
		time.Sleep(3*time.Minute + round*lease/8)
		if leader.ctx.Err() != nil {
			t.Fatalf("the leader was deposed: %v", context.Cause(leader.ctx))
		}
		ended := time.Now()
		processes[leader.who].stop(t)
		next := <-terms
		if took := next.at.Sub(ended); took > lease/3 {
			t.Errorf("%s followed %s after %v", next.who, leader.who, took)
		}
		begin(leader.who)
		leader = next
	}
	for _, p := range processes {
		p.stop(t)
	}
}

// TestBrokenLease checks that a leader learns at once, by its watch, that an operator
// took the name from it.
func TestBrokenLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		terms := make(chan event, 10)
		p := start(t, db, short("a"), terms)
		leader := <-terms
		time.Sleep(time.Minute)
		broken := time.Now()
		names := must[*leasefdb.Names](t)(leasefdb.NewNames(db, nil, "kazahana", "elections"))
		check(t, names.Break(ctx, db, "job", leader.term.Rank()))
		<-leader.ctx.Done()
		if took := time.Since(broken); took > 0 {
			t.Errorf("the loss was seen after %v", took)
		}
		wantError(t, context.Cause(leader.ctx), election.ErrDeposed)
		<-terms
		p.stop(t)
	})
}
