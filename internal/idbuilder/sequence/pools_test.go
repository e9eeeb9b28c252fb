// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// world has two or three pools over one store that fails, and the numbers that they gave.
type world struct {
	rt    *rapid.T
	f     *fakeStore
	o     sequence.Options
	spec  sequence.Spec
	pools []*sequence.Pool
	last  []int64 // of each pool; the start until it has given one

	mu    sync.Mutex
	given map[int64]int // by which pool
}

// TestPools uses pools over one store at random. Reservations fail before and after they are
// made, and are slow; pools are closed and replaced; sequences idle; specifications change. No
// number comes twice, those of a pool ascend, and those of a call have the distance that it asked
// for.
func TestPools(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inBubble(t, func() {
			w := newWorld(rt)
			defer w.close()
			for range rapid.IntRange(1, 80).Draw(rt, "steps") {
				w.runStep(rapid.IntRange(0, len(w.pools)-1).Draw(rt, "pool"))
			}
		})
	})
}

// inBubble runs f with mocked time. Panics reach the caller, as rapid needs it.
func inBubble(t *testing.T, f func()) {
	var panicked any
	synctest.Test(t, func(*testing.T) {
		defer func() { panicked = recover() }()
		f()
	})
	if panicked != nil {
		panic(panicked)
	}
}

func newWorld(rt *rapid.T) *world {
	w := &world{rt: rt, f: newFakeStore(), o: drawOptions(rt), spec: drawSpec(rt), given: map[int64]int{}}
	w.o.Idle, w.o.Timeout = time.Minute, 5*time.Second
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "faults"), 0))
	fault := func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if random.IntN(8) == 0 {
			return errDown
		}
		return nil
	}
	w.f.before, w.f.after = fault, fault
	w.pools = make([]*sequence.Pool, rapid.IntRange(1, 3).Draw(rt, "pools"))
	w.last = make([]int64, len(w.pools))
	for i := range w.pools {
		w.restart(i)
	}
	return w
}

func (w *world) close() {
	for _, p := range w.pools {
		p.Close(context.Background())
	}
}

// restart closes a pool, or abandons it as a crash does, and makes another.
func (w *world) restart(i int) {
	if w.pools[i] != nil {
		ctx, cancel := context.WithCancel(context.Background())
		if rapid.Bool().Draw(w.rt, "crash") {
			cancel()
		}
		_ = w.pools[i].Close(ctx)
		cancel()
	}
	p, err := sequence.New(w.f, w.o)
	if err != nil {
		w.rt.Fatal(err)
	}
	w.pools[i], w.last[i] = p, w.spec.Start
}

func (w *world) runStep(i int) {
	switch rapid.IntRange(0, 15).Draw(w.rt, "what") {
	case 0:
		w.restart(i)
	case 1:
		time.Sleep(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 2 * time.Minute}).Draw(w.rt, "sleep"))
	case 2:
		w.f.setDelay(rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, 10 * time.Second}).Draw(w.rt, "delay"))
	case 3:
		w.changeSpec()
	case 4:
		w.takeTogether(i)
	default:
		w.takeNumbers(i, drawRequest(w.rt, w.spec))
	}
}

// changeSpec changes step and bound, but not the direction.
func (w *world) changeSpec() {
	sign := w.spec.Step / abs(w.spec.Step)
	w.spec.Step = sign * rapid.Int64Range(1, 7).Draw(w.rt, "step")
	w.spec.Bound += sign * rapid.Int64Range(-100, 500).Draw(w.rt, "further")
	for i := range w.pools {
		w.sequence(i)
	}
}

func (w *world) sequence(i int) *sequence.Sequence {
	s, err := w.pools[i].Sequence("a", w.spec)
	if err != nil {
		w.rt.Fatal(err)
	}
	return s
}

// takeNumbers takes numbers of one pool and checks them.
func (w *world) takeNumbers(i int, r sequence.Request) {
	s := w.sequence(i)
	before := s.State()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	ids, err := s.Take(ctx, nil, r)
	if err != nil {
		w.checkFailed(s, before, err)
		return
	}
	if len(ids) != r.Count || (ids[0] <= w.last[i]) == (w.spec.Step > 0) {
		w.rt.Fatalf("pool %d gives %v after %d for %+v", i, ids, w.last[i], r)
	}
	checkSpacing(w.rt, w.spec, ids, r)
	w.last[i] = ids[len(ids)-1]
	w.recordNumbers(i, ids)
}

// checkFailed checks that a call that failed has consumed nothing.
func (w *world) checkFailed(s *sequence.Sequence, before sequence.State, err error) {
	if !errors.Is(err, store.ErrExhausted) && !errors.Is(err, errDown) && !errors.Is(err, context.DeadlineExceeded) {
		w.rt.Fatal(err)
	}
	if after := s.State(); after.Given != before.Given || after.Last != before.Last || after.Remaining < before.Remaining {
		w.rt.Fatalf("%v: %+v became %+v", err, before, after)
	}
}

// takeTogether takes in parallel. Answers must not be mixed with each other.
func (w *world) takeTogether(i int) {
	s := w.sequence(i)
	answers := make([][]int64, rapid.IntRange(2, 5).Draw(w.rt, "callers"))
	var wg sync.WaitGroup
	for j := range answers {
		r := drawRequest(w.rt, w.spec)
		wg.Go(func() { answers[j], _ = s.Take(context.Background(), nil, r) })
	}
	wg.Wait()
	answers = slices.DeleteFunc(answers, func(ids []int64) bool { return len(ids) == 0 })
	slices.SortFunc(answers, func(a, b []int64) int { return int((a[0] - b[0]) * w.spec.Step) })
	for _, ids := range answers {
		if (ids[0] <= w.last[i]) == (w.spec.Step > 0) {
			w.rt.Fatalf("pool %d gives %v, %d was given to another call", i, ids, w.last[i])
		}
		w.last[i] = ids[len(ids)-1]
		w.recordNumbers(i, ids)
	}
}

// recordNumbers records numbers, and fails the test if one was given before.
func (w *world) recordNumbers(i int, ids []int64) {
	for _, id := range ids {
		if by, ok := w.given[id]; ok {
			w.rt.Fatalf("%d is given by pool %d, and was by pool %d", id, i, by)
		}
		w.given[id] = i
	}
}

// TestRace: many goroutines, pools and sequences at once, with a store that
// fails: no number comes twice, and a call that begins after another has ended
// gets later numbers.
func TestRace(t *testing.T) {
	f := newFakeStore()
	f.after = func() error {
		if f.calls.Load()%5 == 0 {
			return errDown
		}
		return nil
	}
	var given sync.Map
	var wg sync.WaitGroup
	for range 2 {
		p := newPool(t, f, sequence.Options{BatchSize: 20, MaxBatch: 500, Idle: time.Millisecond, MinBackoff: 1, MaxBackoff: 1})
		for i := range 4 {
			var s sharedSequence
			for range 4 {
				wg.Go(func() { s.takeAndCheck(t, p, fmt.Sprint(i%2), i < 2, &given) })
			}
		}
	}
	wg.Wait()
}

// sharedSequence is a sequence of one pool that several goroutines use.
type sharedSequence struct {
	mu   sync.Mutex
	last int64 // the greatest number of the calls that have ended
}

func (s *sharedSequence) takeAndCheck(t *testing.T, p *sequence.Pool, name string, keep bool, given *sync.Map) {
	kept := openSequence(t, p, name, ascending)
	rounds := 300
	if testing.Short() {
		rounds = 100
	}
	for n := range rounds {
		if !keep {
			kept = openSequence(t, p, name, ascending)
		}
		s.mu.Lock()
		before := s.last
		s.mu.Unlock()
		ids, err := kept.Take(t.Context(), nil, sequence.Request{Count: 1 + n%40, Delta: int64(n % 3), Random: n%7 == 0})
		if err != nil {
			if !errors.Is(err, errDown) {
				t.Error(err)
			}
			continue
		}
		if ids[0] <= before {
			t.Errorf("%d was given after %d", ids[0], before)
		}
		s.mu.Lock()
		s.last = max(s.last, ids[len(ids)-1])
		s.mu.Unlock()
		for _, id := range ids {
			if _, twice := given.LoadOrStore(fmt.Sprint(name, " ", id), true); twice {
				t.Errorf("%s: %d was given before", name, id)
			}
		}
	}
}
