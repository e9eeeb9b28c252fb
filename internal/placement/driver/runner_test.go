// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement"
)

// script is a Runner that runs commands, and reports their results, when the test says so.
type script struct {
	work []scriptedCommand
	done []func()
}

type scriptedCommand struct {
	work func(context.Context) core.CommandResult
	done func(core.CommandResult)
}

func (s *script) Run(work func(context.Context) core.CommandResult, done func(core.CommandResult)) {
	s.work = append(s.work, scriptedCommand{work, done})
}

// runStep runs one command, or reports the result of one: of some twice, of some never (these
// are reported as failed later). It returns false if there is nothing to do.
func (s *script) runStep(r *rand.Rand) bool {
	n := len(s.work) + len(s.done)
	if n == 0 {
		return false
	}
	i := r.IntN(n)
	if i >= len(s.work) {
		i -= len(s.work)
		tell := s.done[i]
		if r.IntN(5) > 0 { // otherwise it is reported again
			s.done = append(s.done[:i], s.done[i+1:]...)
		}
		tell()
		return true
	}
	p := s.work[i]
	s.work = append(s.work[:i], s.work[i+1:]...)
	result := p.work(context.Background())
	s.done = append(s.done, func() { p.done(result) })
	return true
}

// TestRunner runs random schedules in one goroutine: each resolve is answered once,
// the same seed gives the same events, and everything is handed back.
func TestRunner(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 20
	}
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			for _, seed := range seed.Series(t, n) {
				first := schedule(t, options, seed)
				if again := schedule(t, options, seed); fmt.Sprint(first) != fmt.Sprint(again) {
					t.Fatalf("seed %d: two runs have other events:\n%v\n%v", seed, first, again)
				}
			}
		})
	}
}

func schedule(t *testing.T, options memory.Options, seed uint64) []placement.Event {
	t.Helper()
	var events []placement.Event
	s, r := &script{}, rand.New(rand.NewPCG(seed, 0))
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	h := newHome(t, options)
	o := driver.Options{Runner: s, Now: func() time.Time { return now }, Events: func(e placement.Event) { events = append(events, e) }}
	m := alone(t, h, &executor{}, o, core.Options{})
	answers := make([]int, 50)
	for i := range answers {
		m.ResolveAsync(keyOf(fmt.Sprint(r.IntN(8))), func(_ core.Resolution, err error) {
			answers[i]++
			if err != nil && !errors.Is(err, placement.ErrStopped) {
				t.Errorf("seed %d: got %v", seed, err)
			}
		})
		for range r.IntN(6) {
			s.runStep(r)
		}
		now = now.Add(time.Millisecond)
		m.Tick(now)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for stopped := m.Stop(ended); stopped != nil; stopped = m.Stop(ended) {
		if !s.runStep(r) {
			t.Fatalf("seed %d: %v", seed, stopped)
		}
	}
	for s.runStep(r) {
	}
	for i, n := range answers {
		if n != 1 {
			t.Errorf("seed %d: resolve %d has %d answers", seed, i, n)
		}
	}
	if active, _ := m.countActivations(); active != 0 || h.Len() != 0 {
		t.Errorf("seed %d: %d activations and %d rows are left", seed, active, h.Len())
	}
	return events
}

// TestRunnerTakesNoGoroutine checks that with a Runner everything happens in the
// goroutine that calls: events come before the call returns, topologies at once.
func TestRunnerTakesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []placement.EventKind
		o := driver.Options{Runner: inline{}, Events: func(e placement.Event) { events = append(events, e.Kind) }}
		m := alone(t, newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		for version := int64(2); version < 5; version++ {
			if err := m.UpdateTopology(topology(version, m)); err != nil || m.Snapshot().Topology != version {
				t.Errorf("topology %d: %v", version, err)
			}
		}
		told := len(events)
		answered := 0
		m.ResolveAsync(keyOf("1"), func(r core.Resolution, err error) {
			if answered++; err != nil || r.Locality != core.Local {
				t.Errorf("got %+v and %v", r, err)
			}
		})
		if answered != 1 || len(events) < told+4 {
			t.Errorf("%d answers; the events %v", answered, events[told:])
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Stop(ended); err != nil {
			t.Error(err)
		}
	})
}

// inline is a Runner that runs each command at once.
type inline struct{}

func (inline) Run(work func(context.Context) core.CommandResult, done func(core.CommandResult)) {
	done(work(context.Background()))
}
