// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// BenchmarkContact measures a contact beside a reading of the clock.
func BenchmarkContact(b *testing.B) {
	b.Run("Driver", func(b *testing.B) {
		d := newDriver(b, rafttimer.Options{})
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
		for now := time.Duration(0); b.Loop(); now++ {
			m.Contact(now)
		}
	})
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			clockReading = time.Now()
		}
	})
}

var clockReading time.Time // so that the reading is not optimised away
