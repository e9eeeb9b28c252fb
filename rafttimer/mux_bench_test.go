// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// BenchmarkGroupContact notes contacts, and reports what reading the clock costs: of one group, and of 100,000, which
// are not in the processor's cache, in the order of their making and in any order.
func BenchmarkGroupContact(b *testing.B) {
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			clockReading = time.Now()
		}
	})
	m := newMux(b, func(*rafttimer.Group[int], rafttimer.Event) {}, rafttimer.MuxOptions{})
	ordered := make([]*rafttimer.Group[int], groups)
	for i := range ordered {
		ordered[i] = newGroup(b, m, i)
		ordered[i].BecomeFollower()
	}
	shuffled := append([]*rafttimer.Group[int](nil), ordered...)
	rand.Shuffle(groups, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, set := range []struct {
		name   string
		groups []*rafttimer.Group[int]
	}{{"1", ordered[:1]}, {"100000-in-order", ordered}, {"100000-shuffled", shuffled}} {
		b.Run("Contact/"+set.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				set.groups[i%len(set.groups)].Contact()
			}
		})
		b.Run("ContactAt/"+set.name, func(b *testing.B) {
			b.ReportAllocs()
			at := m.Now()
			for i := 0; b.Loop(); i++ {
				set.groups[i%len(set.groups)].ContactAt(at + time.Duration(i))
			}
		})
	}
}

// BenchmarkBecomeFollower changes roles, among 100,000 groups.
func BenchmarkBecomeFollower(b *testing.B) {
	m := newMux(b, func(*rafttimer.Group[int], rafttimer.Event) {}, rafttimer.MuxOptions{})
	all := make([]*rafttimer.Group[int], groups)
	for i := range all {
		all[i] = newGroup(b, m, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		all[i%groups].BecomeFollower()
	}
}

// BenchmarkNewGroup makes a group and closes it.
func BenchmarkNewGroup(b *testing.B) {
	m := newMux(b, func(*rafttimer.Group[int], rafttimer.Event) {}, rafttimer.MuxOptions{})
	b.ReportAllocs()
	for b.Loop() {
		newGroup(b, m, 0).Close()
	}
}

// groups is how many a process hosts in the benchmarks.
const groups = 100_000
