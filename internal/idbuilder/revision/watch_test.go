// SPDX-License-Identifier: Apache-2.0

package revision_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/seed"
)

func newWatch(t *testing.T, s *slowStore, o revision.Options) *revision.Watch {
	t.Helper()
	w, err := revision.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func current(t *testing.T, w *revision.Watch, want int64) {
	t.Helper()
	if got, err := w.Current(t.Context()); err != nil || got != want {
		t.Errorf("the revision is %d, %v, want %d", got, err, want)
	}
}

// TestAnnounceIsSeen runs watches over one store with calls that take up to three
// times the validity and may ignore their contexts, and goroutines that call Current all the time.
// A call of Current that begins after an Announce has returned never returns an older revision.
func TestAnnounceIsSeen(t *testing.T) {
	r := seed.Rand(t)
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		delays := rand.New(rand.NewPCG(r.Uint64(), 0))
		deaf := r.IntN(2) == 0
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{delay: randomDelay(delays, 3*time.Second), deaf: deaf}
			run(t, s, rand.New(rand.NewPCG(delays.Uint64(), 0)))
		})
	}
}

func run(t *testing.T, s *slowStore, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var inForce, answers, announced atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		w := newWatch(t, s, revision.Options{})
		pause := time.Duration(1 + r.Int64N(int64(100*time.Millisecond)))
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					least := inForce.Load()
					got, err := w.Current(ctx)
					switch {
					case err == nil && got < least:
						t.Errorf("the revision %d is vouched for, after that of %d was announced", got, least)
					case err == nil:
						answers.Add(1)
					}
					time.Sleep(pause)
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				// Announce raises the revision at least to this.
				least := s.revision.Load() + 1
				if w.Announce(ctx) == nil {
					announced.Add(1)
					raise(&inForce, least)
				}
				time.Sleep(5 * pause)
			}
		})
	}
	all.Wait()
	if answers.Load() == 0 || announced.Load() == 0 {
		t.Errorf("%d answers, %d announcements: nothing was tested", answers.Load(), announced.Load())
	}
	s.set(false, 0)
}

func raise(a *atomic.Int64, value int64) {
	for old := a.Load(); old < value && !a.CompareAndSwap(old, value); old = a.Load() {
	}
}

// TestLateAnswerIsDiscarded: a poll that begins before a change and ends after Announce has
// returned may have the old revision; its answer is not used.
func TestLateAnswerIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		other := newWatch(t, s, revision.Options{})
		synctest.Wait()
		s.set(true, 2*time.Second) // reads the revision after 2 s, answers after 4 s
		w := newWatch(t, s, revision.Options{})
		answered := make(chan error)
		go func() {
			_, err := w.Current(t.Context())
			answered <- err
		}()
		time.Sleep(1500 * time.Millisecond)
		if err := <-answered; !errors.Is(err, revision.ErrLate) {
			t.Errorf("the error of Current is %v, want ErrLate", err)
		}
		time.Sleep(time.Second) // the store has read 0 for both polls
		s.set(false, 0)
		if err := other.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the late answers have come
		current(t, w, 1)
		current(t, other, 1)
	})
}

// TestAnnounceTakesTheValidity: Announce waits for the validity after the store has answered Advance.
func TestAnnounceTakesTheValidity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: func() time.Duration { return 100 * time.Millisecond }}
		w := newWatch(t, s, revision.Options{Validity: 2 * time.Second, Margin: 50 * time.Millisecond})
		begun := time.Now()
		if err := w.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took, want := time.Since(begun), 2250*time.Millisecond; took != want {
			t.Errorf("Announce took %v, want %v", took, want)
		}
		current(t, w, 1)
	})
}

// TestCurrentFromMemory: while the store answers, Current does not wait for it, and the watch polls
// it three times in each period of validity.
func TestCurrentFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: func() time.Duration { return 10 * time.Millisecond }}
		w := newWatch(t, s, revision.Options{})
		time.Sleep(50 * time.Millisecond)
		begun := time.Now()
		for range 1000 {
			before := time.Now()
			current(t, w, 0)
			if time.Since(before) != 0 {
				t.Fatalf("Current waited %v", time.Since(before))
			}
			time.Sleep(10 * time.Millisecond)
		}
		if polls := s.calls.Load(); polls > 3*int64(time.Since(begun)/time.Second)+3 {
			t.Errorf("%d polls in %v", polls, time.Since(begun))
		}
	})
}

// TestStoreDown: Current works until the validity ends, then returns the error of the store,
// then the revision again.
func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		w := newWatch(t, s, revision.Options{})
		synctest.Wait() // polled at 0
		s.down.Store(true)
		time.Sleep(999 * time.Millisecond)
		current(t, w, 0)
		time.Sleep(time.Millisecond)
		if _, err := w.Current(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("the error is %v, want that of the store", err)
		}
		if err := w.Announce(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("the error of Announce is %v, want that of the store", err)
		}
		s.down.Store(false)
		current(t, w, 0)
	})
}

// TestLast: while the store is down or hangs, Last returns the last revision, with the reason, at
// once after the first failure, and for so long; Current does not.
func TestLast(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{}
			w := newWatch(t, s, revision.Options{Outage: time.Minute})
			last := func(after time.Duration, outage bool) {
				t.Helper()
				time.Sleep(after)
				k, err := w.Last(t.Context())
				if err != nil || k.Revision != 0 || (k.Outage != nil) != outage || outage != (w.Outage() > 0) {
					t.Errorf("the last revision is %+v, %v; the outage lasts %v", k, err, w.Outage())
				}
			}
			synctest.Wait() // polled at 0
			if hangs {
				s.set(true, time.Hour)
			} else {
				s.down.Store(true)
			}
			last(999*time.Millisecond, false)
			last(2*time.Second, true)
			begun := time.Now()
			last(0, true)
			if took := time.Since(begun); took != 0 {
				t.Errorf("Last waited %v", took)
			}
			if _, err := w.Current(t.Context()); err == nil {
				t.Error("Current returned a revision")
			}
			last(55*time.Second, true)
			time.Sleep(5 * time.Second)
			if k, err := w.Last(t.Context()); err == nil {
				t.Errorf("after a minute the last revision is %+v", k)
			}
			s.down.Store(false)
			s.set(false, 0)
			time.Sleep(2 * time.Hour)
			last(0, false)
		})
	}
}

// TestHangingStore: callers wait for no longer than the validity and their contexts,
// and share one call of the store; it works again once the store does.
func TestHangingStore(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{}
			s.set(deaf, time.Hour)
			w := newWatch(t, s, revision.Options{})
			var callers sync.WaitGroup
			for i := range 100 {
				callers.Go(func() { waits(t, w, time.Duration(i+1)*25*time.Millisecond) })
			}
			callers.Wait()
			if s.most.Load() != 1 {
				t.Errorf("%d calls of the store at once", s.most.Load())
			}
			s.set(deaf, 0)
			time.Sleep(2 * time.Hour)
			current(t, w, 0)
		})
	}
}

// waits calls Current with a timeout, and checks when and how it ends.
func waits(t *testing.T, w *revision.Watch, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	begun := time.Now()
	_, err := w.Current(ctx)
	took := time.Since(begun)
	switch {
	case timeout < time.Second && (!errors.Is(err, context.DeadlineExceeded) || took != timeout):
		t.Errorf("with a timeout of %v, Current took %v: %v", timeout, took, err)
	case timeout > time.Second && (err == nil || took != time.Second):
		t.Errorf("without an answer, Current took %v: %v", took, err)
	}
}

// TestManyWaitForOnePoll: callers that find no valid revision share one poll.
func TestManyWaitForOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		s.set(false, 200*time.Millisecond)
		w := newWatch(t, s, revision.Options{Validity: 10 * time.Second})
		begun := time.Now()
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() { current(t, w, 0) })
		}
		callers.Wait()
		if took := time.Since(begun); took != 400*time.Millisecond || s.calls.Load() != 1 {
			t.Errorf("%d polls in %v, want 1 in 400ms", s.calls.Load(), took)
		}
	})
}

// TestAnnounceEndsWithItsContext: the error says that the change may not be in force.
func TestAnnounceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, &slowStore{}, revision.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := w.Announce(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestClose: a closed Watch does not call the store, and Current returns an error.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		s.set(false, 100*time.Millisecond)
		w := newWatch(t, s, revision.Options{})
		time.Sleep(time.Second)
		current(t, w, 0)
		waiting := make(chan error)
		s.set(false, time.Hour)
		time.Sleep(2 * time.Second)
		go func() {
			_, err := w.Current(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		w.Close()
		w.Close()
		if err := <-waiting; !errors.Is(err, revision.ErrClosed) {
			t.Errorf("a call that waited ended with %v", err)
		}
		calls := s.calls.Load()
		time.Sleep(time.Minute)
		if _, err := w.Current(t.Context()); !errors.Is(err, revision.ErrClosed) {
			t.Errorf("the error of Current is %v", err)
		}
		if err := w.Announce(t.Context()); !errors.Is(err, revision.ErrClosed) || s.revision.Load() != 0 {
			t.Errorf("the error of Announce is %v", err)
		}
		synctest.Wait()
		if s.calls.Load() != calls || s.underWay.Load() != 0 {
			t.Error("a closed watch has called the store")
		}
	})
}

// TestCloseForgetsAtOnce: Close ends the validity of what is known.
func TestCloseForgetsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, &slowStore{}, revision.Options{})
		current(t, w, 0)
		w.Close()
		if _, err := w.Current(t.Context()); !errors.Is(err, revision.ErrClosed) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestOptions(t *testing.T) {
	for _, o := range []revision.Options{{Validity: 9 * time.Millisecond}, {Validity: -1}, {Validity: time.Minute + 1}, {Margin: -1}, {Margin: time.Minute + 1}, {Outage: 24*time.Hour + 1}} {
		if _, err := revision.New(&slowStore{}, o); err == nil || o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for _, o := range []revision.Options{{}, {Validity: 10 * time.Millisecond}, {Validity: time.Minute, Margin: time.Minute, Outage: -1}} {
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkCurrent(b *testing.B) {
	w, err := revision.New(&slowStore{}, revision.Options{Validity: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Current(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNow measures the clock's part of BenchmarkCurrent.
func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		if time.Now().IsZero() {
			b.Fatal()
		}
	}
}
