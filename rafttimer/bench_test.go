// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// BenchmarkContact notes contacts. It reports what reading the clock costs as well.
func BenchmarkContact(b *testing.B) {
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			clockReading = time.Now()
		}
	})
	b.Run("Driver", func(b *testing.B) {
		d := newDriver(b, rafttimer.Options{OnElectionTimeout: func(rafttimer.Event) {}})
		d.BecomeFollower()
		b.ReportAllocs()
		for b.Loop() {
			d.Contact()
		}
	})
	b.Run("Machine", func(b *testing.B) {
		m := newMachine(b, rafttimer.Config{}, 1)
		m.BecomeFollower(0)
		b.ReportAllocs()
		now := time.Duration(0)
		for b.Loop() {
			now++
			m.Contact(now)
		}
	})
}

var clockReading time.Time // so that the reading is not optimised away

// BenchmarkAdvance advances a machine that has nothing to do, one with a heartbeat that is due and one with an
// election timeout that is due and drawn anew.
func BenchmarkAdvance(b *testing.B) {
	bench := func(become func(*rafttimer.Machine, time.Duration), step time.Duration) func(*testing.B) {
		return func(b *testing.B) {
			m := newMachine(b, rafttimer.Config{}, 1)
			become(m, 0)
			events := make([]rafttimer.Event, 0, 3)
			b.ReportAllocs()
			now := time.Duration(0)
			for b.Loop() {
				now += step
				events = m.Advance(events[:0], now)
			}
		}
	}
	b.Run("early", bench((*rafttimer.Machine).BecomeLeader, 0))
	b.Run("heartbeat", bench((*rafttimer.Machine).BecomeLeader, rafttimer.DefaultHeartbeatInterval))
	b.Run("election", bench((*rafttimer.Machine).BecomeCandidate, rafttimer.DefaultElectionTimeoutMax))
}

// BenchmarkDriver creates a driver, makes it a follower and closes it.
func BenchmarkDriver(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		d, err := rafttimer.New(context.Background(), rafttimer.Options{})
		if err != nil {
			b.Fatal(err)
		}
		d.BecomeFollower()
		d.Close()
	}
}
