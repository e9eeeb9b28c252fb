// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// timeout returns what is left until the machine's next deadline.
func timeout(t testing.TB, m *rafttimer.Machine, now time.Duration) time.Duration {
	t.Helper()
	deadline, ok := m.NextDeadline()
	if !ok {
		t.Fatal("no timer runs")
	}
	return deadline - now
}

// The election timeouts fill the range evenly: a χ² test with 30 cells, at a
// level that a right source misses once in a million.
func TestRollsAreUniform(t *testing.T) {
	const cells, rolls = 30, 300_000
	m := newMachine(t, rafttimer.Config{}, seed.Rand(t).Uint64())
	var counts [cells]int
	for range rolls {
		m.BecomeFollower(0)
		d := timeout(t, m, 0)
		if d < 150*ms || d > 300*ms {
			t.Fatalf("a timeout of %v", d)
		}
		counts[min(int((d-150*ms)/(5*ms)), cells-1)]++
	}
	var chi2 float64
	for _, n := range counts {
		diff := float64(n) - rolls/cells
		chi2 += diff * diff / (rolls / cells)
	}
	if chi2 > 79.5 { // 29 degrees of freedom
		t.Errorf("χ² is %.1f: %v", chi2, counts)
	}
}

// The bounds are inclusive, both.
func TestRollsReachTheBounds(t *testing.T) {
	m := newMachine(t, rafttimer.Config{ElectionTimeoutMin: 10, ElectionTimeoutMax: 12, HeartbeatInterval: 1}, 1)
	found := map[time.Duration]int{}
	for range 1000 {
		m.BecomeCandidate(0)
		found[timeout(t, m, 0)]++
	}
	for d, n := range found {
		if d < 10 || d > 12 || n < 250 {
			t.Errorf("timeouts %v", found)
		}
	}
	if len(found) != 3 {
		t.Errorf("timeouts %v, want 10, 11 and 12 ns", found)
	}
}

// One arming draws once: a contact moves the deadline by what has passed, to the
// nanosecond, and takes nothing from the source.
func TestContactsDoNotRoll(t *testing.T) {
	source := &countingSource{Source: rand.NewPCG(1, 2)}
	m, err := rafttimer.NewMachine(rafttimer.Config{BackoffFactor: 2}, source)
	if err != nil {
		t.Fatal(err)
	}
	m.BecomeFollower(0)
	want, drawn := timeout(t, m, 0), source.n
	for now := time.Duration(0); now < time.Second; now += 7 * ms {
		m.Contact(now)
		m.Advance(nil, now)
		if got := timeout(t, m, now); got != want {
			t.Fatalf("at %v the timeout is %v, was %v", now, got, want)
		}
	}
	if source.n != drawn {
		t.Errorf("contacts drew %d numbers", source.n-drawn)
	}
	for range 3 { // each arming draws
		before := source.n
		m.BecomeFollower(time.Second)
		if source.n == before {
			t.Error("an arming drew nothing")
		}
	}
}

type countingSource struct {
	rand.Source
	n int
}

func (s *countingSource) Uint64() uint64 {
	s.n++
	return s.Source.Uint64()
}

// Five nodes with a range of ten ticks: two time out first in the same tick in
// at most 30 % of the rounds (etcd's own bound, which tells one roll for each
// arming from one for each tick).
func TestTies(t *testing.T) {
	const tick, rounds = 10 * ms, 20_000
	c := rafttimer.Config{ElectionTimeoutMin: 10 * tick, ElectionTimeoutMax: 20*tick - 1}
	random := seed.Rand(t)
	var nodes []*rafttimer.Machine
	for range 5 {
		nodes = append(nodes, newMachine(t, c, random.Uint64()))
	}
	ties := 0
	for range rounds {
		first, count := time.Duration(1<<62), 0
		for _, m := range nodes {
			m.BecomeFollower(0)
			switch d := timeout(t, m, 0) / tick; {
			case d < first:
				first, count = d, 1
			case d == first:
				count++
			}
		}
		if count > 1 {
			ties++
		}
	}
	if share := float64(ties) / rounds; share > 0.30 || share < 0.15 {
		t.Errorf("%.1f %% of the rounds have a tie, want about 23 %%", 100*share)
	}
}

// Nodes draw independently, and alike from the same seed.
func TestSeeds(t *testing.T) {
	draw := func(seed uint64) (rolls [20]time.Duration) {
		m := newMachine(t, rafttimer.Config{}, seed)
		for i := range rolls {
			m.BecomeFollower(0)
			rolls[i] = timeout(t, m, 0)
		}
		return rolls
	}
	if first, second := draw(1), draw(1); first != second {
		t.Error("one seed gives two sequences")
	}
	if draw(1) == draw(2) {
		t.Error("two seeds give one sequence")
	}
	unseeded := func() time.Duration {
		m, _ := rafttimer.NewMachine(rafttimer.Config{}, nil)
		m.BecomeFollower(0)
		return timeout(t, m, 0)
	}
	if a, b, c := unseeded(), unseeded(), unseeded(); a == b && b == c {
		t.Error("three nodes without a seed draw the same")
	}
}

// TestContactEndsBackoffInTime checks that a leader that is heard once after failed
// elections, and then dies, is missed after a timeout without back-off: the driver's
// alarm stands at the end of the longer one when the contact comes.
func TestContactEndsBackoffInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{Config: rafttimer.Config{BackoffFactor: 8}})
		defer d.Close()
		d.BecomeCandidate()
		<-d.Events()
		d.BecomeFollower() // its timeout is at least 1.2 s
		time.Sleep(100 * time.Millisecond)
		d.Contact()
		heard := d.Now()
		e := <-d.Events()
		if after := e.At() - heard; after < rafttimer.DefaultElectionTimeoutMin || after > rafttimer.DefaultElectionTimeoutMax {
			t.Errorf("the leader was missed %v after its last contact", after)
		}
	})
}

// TestContactTimeout checks what a contact would make of the election timeout.
func TestContactTimeout(t *testing.T) {
	m, err := rafttimer.NewMachine(rafttimer.Config{BackoffFactor: 2, BroadcastFactor: 10}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.ContactTimeout(); got != 0 {
		t.Errorf("%v without a timeout", got)
	}
	m.BecomeCandidate(0)
	m.ObserveBroadcast(20 * time.Millisecond)
	for now := time.Duration(0); ; {
		deadline, _ := m.NextDeadline()
		want := m.ContactTimeout()
		heard := *m
		heard.Contact(now)
		if got, _ := heard.NextDeadline(); got != now+want {
			t.Fatalf("ContactTimeout is %v; a contact made it %v", want, got-now)
		}
		if now = deadline; now > time.Minute {
			return
		}
		m.Advance(nil, now)
	}
}

// TestAdaptationIsNoStall checks that a timeout which measurements make shorter than what
// has passed of it is due now. A deadline in the past would look like a stall.
func TestAdaptationIsNoStall(t *testing.T) {
	m := newMachine(t, rafttimer.Config{BroadcastFactor: 10}, 1)
	m.ObserveBroadcast(50 * ms)
	m.BecomeFollower(0)
	deadline, _ := m.NextDeadline()
	now := deadline - 1
	m.Advance(nil, now)
	for range 100 {
		m.ObserveBroadcast(ms)
	}
	if before := deadline; timeout(t, m, now) != 0 {
		deadline, _ = m.NextDeadline()
		t.Errorf("at %v the deadline is %v, was %v", now, deadline, before)
	}
	if events := m.Advance(nil, now); len(events) != 1 || events[0].Kind != rafttimer.ElectionTimeout || events[0].Late != 0 {
		t.Errorf("events %v", events)
	}
}
