// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

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
