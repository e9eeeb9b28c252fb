// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// reign records the leaders.
type reign struct {
	mu      sync.Mutex
	leaders map[string]bool
	last    string
	terms   int
}

// leadAs returns the work of a leader of a name, which takes a while to end.
func (r *reign) leadAs(s *site, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		r.mu.Lock()
		r.leaders[name], r.last = true, name
		r.terms++
		if len(r.leaders) > 1 {
			s.Errorf("at once there lead %v", r.leaders)
		}
		r.mu.Unlock()
		<-ctx.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.leaders, name)
		return context.Cause(ctx)
	}
}

// leader returns the leader's name; "" if there is none.
func (r *reign) leader() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.leaders {
		return name
	}
	return ""
}

// startCandidate starts a candidate over a store of its own.
func (s *site) startCandidate(r *reign, name string, st store.Store) (stop func()) {
	seat := newSeat(st, 30*time.Second)
	return s.start(func(ctx context.Context) error { return seat.run(ctx, r.leadAs(s, name)) })
}

// TestLeaderKilled kills leaders, one after the other: the next one leads no earlier
// than the lease allows, and soon after.
func TestLeaderKilled(t *testing.T) {
	bubble(t, func(s *site) {
		r := &reign{leaders: map[string]bool{}}
		stores := map[string]*severedStore{}
		for _, name := range []string{"a", "b", "c"} {
			stores[name] = &severedStore{Store: s.store}
			s.startCandidate(r, name, stores[name])
		}
		after(6 * time.Second)
		for range 2 {
			was := r.leader()
			if was == "" {
				s.Fatal("none leads")
			}
			stores[was].sever()
			after(13 * time.Second) // it renews each 10 s, so it was cut off 24 s before its end at most
			after(27 * time.Second)
			if is := r.leader(); is == "" || is == was {
				s.Errorf("40 s after %s died %q leads", was, is)
			}
		}
	})
}

// TestLeaderResigns checks that the next leader need not wait for the lease.
func TestLeaderResigns(t *testing.T) {
	bubble(t, func(s *site) {
		r := &reign{leaders: map[string]bool{}}
		stop := s.startCandidate(r, "a", s.store)
		after(time.Second)
		s.startCandidate(r, "b", s.store)
		after(time.Hour)
		if r.leader() != "a" || r.terms != 1 {
			s.Fatalf("%q leads, in the term %d", r.leader(), r.terms)
		}
		stop()
		after(5 * time.Second)
		if r.leader() != "b" {
			s.Errorf("%q leads", r.leader())
		}
	})
}

// TestLeaderSplit cuts the leader off from the store: it stops leading before
// another begins, which reign checks, and is a candidate again afterwards.
func TestLeaderSplit(t *testing.T) {
	bubble(t, func(s *site) {
		r, cut := &reign{leaders: map[string]bool{}}, false
		var mu sync.Mutex
		split := storetest.Faulty(s.store, func(storetest.Call) storetest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if !cut {
				return storetest.Fault{}
			}
			return storetest.Fault{Fail: true, Before: func(ctx context.Context) { <-ctx.Done() }}
		})
		set := func(to bool) {
			mu.Lock()
			defer mu.Unlock()
			cut = to
		}
		s.startCandidate(r, "a", split)
		after(time.Second)
		s.startCandidate(r, "b", s.store)
		after(time.Minute)
		set(true)
		after(25 * time.Second)
		if r.leader() == "a" {
			s.Error("25 s after it was cut off, a still leads")
		}
		after(20 * time.Second)
		if r.leader() != "b" {
			s.Errorf("%q leads", r.leader())
		}
		set(false)
		after(time.Minute)
		if r.leader() != "b" || r.terms != 2 {
			s.Errorf("%q leads, in the term %d", r.leader(), r.terms)
		}
	})
}

// TestLeadersRandom runs candidates over a store that fails, delays, and loses
// answers.
func TestLeadersRandom(t *testing.T) {
	random := seed.Rand(t)
	bubble(t, func(s *site) {
		bad := 0.0 // the part of calls that fail; it changes
		s.setFault(func(storetest.Call) storetest.Fault {
			delay := time.Duration(random.Int64N(int64(12 * time.Second)))
			wait := func(ctx context.Context) { _ = sleep.For(ctx, delay) }
			f := storetest.Fault{Fail: random.Float64() < bad, Lose: random.Float64() < bad}
			switch {
			case bad == 0:
			case random.IntN(2) == 0:
				f.Before = wait
			default:
				f.After = wait
			}
			return f
		})
		r := &reign{leaders: map[string]bool{}}
		for _, name := range []string{"a", "b", "c"} {
			s.startCandidate(r, name, s.store)
		}
		for range 300 {
			s.mu.Lock()
			bad = []float64{0, 0.1, 0.4, 0.9}[random.IntN(4)]
			pause := time.Duration(random.Int64N(int64(5 * time.Minute)))
			s.mu.Unlock()
			after(pause)
		}
		s.mu.Lock()
		bad = 0
		s.mu.Unlock()
		after(2 * time.Minute)
		if r.leader() == "" || r.terms < 10 {
			s.Errorf("%q leads, in the term %d", r.leader(), r.terms)
		}
	})
}

// TestEndWithoutStore: the end of a leader with a long lease does not wait for a store that hangs.
func TestEndWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		st := storetest.Faulty(storetest.Documents(), func(storetest.Call) storetest.Fault {
			return storetest.Fault{Fail: hangs.Load(), Before: func(ctx context.Context) {
				if hangs.Load() {
					<-ctx.Done()
				}
			}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- newSeat(st, 12*time.Hour).run(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			})
		}()
		synctest.Wait()
		hangs.Store(true)
		cancel()
		begun := time.Now()
		<-ended
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestRenewalOfAnothersTerm checks that a late leader does not replace the document of the next
// leader, but does replace one that it wrote itself without getting the answer.
func TestRenewalOfAnothersTerm(t *testing.T) {
	docs, lose := storetest.Documents(), false
	a := newSeat(storetest.Faulty(docs, func(c storetest.Call) storetest.Fault {
		return storetest.Fault{Lose: lose && c.Method == "Put"}
	}), 30*time.Second)
	mine, err := a.awaitLeadership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lose = true
	if err := a.renewTerm(t.Context(), &mine); err == nil {
		t.Fatal("the answer was not lost")
	}
	lose = false
	if err := a.renewTerm(t.Context(), &mine); err != nil {
		t.Fatalf("after a lost answer: %v", err)
	}
	b := newSeat(docs, 30*time.Second)
	theirs := term{doc: mine.doc, value: holder{Holder: b.self, Term: 2}}
	if err := b.putTerm(t.Context(), &theirs); err != nil {
		t.Fatal(err)
	}
	if err := a.renewTerm(t.Context(), &mine); !isConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
}
