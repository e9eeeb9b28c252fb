// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// subject is a group under test, with what it ought to do. The model is as simple as can be: at most one
// deadline, which every step sets.
type subject struct {
	group  *rafttimer.Group[*subject]
	config rafttimer.Config

	mu       sync.Mutex // virtual time keeps handler and test apart, but the race detector does not know
	role     rafttimer.Role
	since    time.Duration // election timeout: of arming or contact; heartbeat: the latest deadline
	base     time.Duration // of the latest election timeout: its arming or contact
	failures int           // elections, as the event counts them
}

// TestModel runs random verbs on groups, in virtual time, and checks each event and its absence: never
// early, never late by more than a resolution, none that a verb has made stale.
func TestModel(t *testing.T) {
	random := seed.Rand(t)
	for range 40 {
		c := rafttimer.Config{BackoffFactor: []float64{1, 2}[random.IntN(2)], StallThreshold: time.Hour}
		resolution := []time.Duration{ms, 5 * ms, 7 * ms, 50 * ms}[random.IntN(4)]
		synctest.Test(t, func(t *testing.T) { runModel(t, random, c, resolution) })
	}
}

func runModel(t *testing.T, random *rand.Rand, c rafttimer.Config, resolution time.Duration) {
	m := newMux(t, func(g *rafttimer.Group[*subject], e rafttimer.Event) { g.Value().take(t, e, resolution) },
		rafttimer.MuxOptions{Config: c, Shards: 1 + random.IntN(3), Resolution: resolution, Source: rand.NewPCG(random.Uint64(), 0)})
	complete, _ := c.WithDefaults()
	var subjects []*subject
	for range 30 {
		s := &subject{config: complete}
		s.group = newGroup(t, m, s)
		subjects = append(subjects, s)
	}
	for range 600 {
		time.Sleep(time.Duration(random.Int64N(int64([]time.Duration{10, ms, 40 * ms}[random.IntN(3)]))))
		synctest.Wait()
		for _, s := range subjects {
			s.checkNothingIsOverdue(t, m.Now(), resolution)
		}
		s := subjects[random.IntN(len(subjects))]
		if random.IntN(50) == 0 { // another group takes its index
			s.group.Close()
			s.group = newGroup(t, m, s)
			s.forget()
		}
		s.step(t, random.IntN(9), m.Now())
	}
}

// forget makes the model that of a new group.
func (s *subject) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role, s.failures, s.base = rafttimer.NoRole, 0, 0
}

// step has something happen to a group.
func (s *subject) step(t *testing.T, verb int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	become := func(r rafttimer.Role, f func(*rafttimer.Group[*subject]) error) {
		if err := f(s.group); err != nil {
			t.Fatal(err)
		}
		if s.role, s.since = r, now; r.Timers().ElectionTimeout {
			s.base = now
		}
		if r == rafttimer.Leader {
			s.failures = 0
		}
	}
	switch verb {
	case 0:
		become(rafttimer.Follower, (*rafttimer.Group[*subject]).BecomeFollower)
	case 1:
		become(rafttimer.Candidate, (*rafttimer.Group[*subject]).BecomeCandidate)
	case 2:
		become(rafttimer.Leader, (*rafttimer.Group[*subject]).BecomeLeader)
	case 3:
		become(rafttimer.NoRole, (*rafttimer.Group[*subject]).StopAll)
	case 4:
		s.group.ContactAt(now - 30*ms)
		s.contact(now - 30*ms)
	default:
		s.group.Contact()
		s.contact(now)
	}
	if got := s.group.Role(); got != s.role {
		t.Fatalf("the role is %v, want %v", got, s.role)
	}
	if got := s.group.State(); got != s.role.Timers() {
		t.Fatalf("as a %v: %v", s.role, got)
	}
}

func (s *subject) contact(at time.Duration) {
	if at < s.base {
		return
	}
	if s.base, s.failures = at, 0; s.role.Timers().ElectionTimeout {
		s.since = at
	}
}

// stretch is the largest factor of the back-off.
func (s *subject) stretch() float64 {
	factor := 1.0
	for range s.failures {
		factor = min(factor*s.config.BackoffFactor, s.config.BackoffLimit)
	}
	return factor
}

// take checks an event.
func (s *subject) take(t *testing.T, e rafttimer.Event, resolution time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Late < 0 || e.Late > resolution {
		t.Errorf("%v with a resolution of %v", e, resolution)
	}
	if e.Role != s.role || !s.group.IsCurrent(e) {
		t.Errorf("a stale event: %v, but it is a %v", e, s.role)
	}
	after := e.Due - s.since
	switch {
	case e.Kind == rafttimer.Heartbeat && s.role == rafttimer.Leader:
		if after != s.config.HeartbeatInterval || e.Missed != 0 {
			t.Errorf("%v after %v", e, after)
		}
		s.since = e.Due
	case e.Kind == rafttimer.ElectionTimeout && s.role.Timers().ElectionTimeout:
		longest := time.Duration(s.stretch() * float64(s.config.ElectionTimeoutMax))
		if least := time.Duration(s.stretch() * float64(s.config.ElectionTimeoutMin)); after < least || after > longest {
			t.Errorf("%v after %v, want %v to %v", e, after, least, longest)
		}
		if s.role == rafttimer.Candidate {
			s.failures++
		}
		s.since, s.base = e.At(), e.At()
		if e.Failed != s.failures {
			t.Errorf("%v counts %d failed elections, want %d", e, e.Failed, s.failures)
		}
	default:
		t.Errorf("%v, but it is a %v", e, s.role)
	}
}

// checkNothingIsOverdue finds events that were lost.
func (s *subject) checkNothingIsOverdue(t *testing.T, now, resolution time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := time.Duration(s.stretch() * float64(s.config.ElectionTimeoutMax))
	if s.role == rafttimer.Leader {
		longest = s.config.HeartbeatInterval
	}
	if s.role != rafttimer.NoRole && now-s.since > longest+resolution {
		t.Fatalf("at %v: nothing has happened to a %v since %v", now, s.role, s.since)
	}
}
