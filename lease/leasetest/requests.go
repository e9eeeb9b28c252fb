// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testRequestKey repeats requests, through another server, too: the answer is
// the same while the leases last, and costs nothing.
func testRequestKey(f *fixture) {
	n, other := f.newNode(small(2)), f.newNode(small(2))
	first := f.acquireKeyed(n, "a", 33) // more than half of the space: several leases
	f.checkGrant(first, 33)
	if len(first) < 2 {
		f.Fatalf("got %d leases", len(first))
	}
	for range 20 {
		f.advance(20 * time.Second)
		if again := f.acquireKeyed(other, "a", 33); !slices.Equal(first, again) {
			f.Fatalf("repeated: got %+v, want %+v", again, first)
		}
	}
	f.advance(10 * time.Minute)
	f.checkGrant(f.acquireKeyed(n, "a", 4), 4) // the leases have ended
	second := f.acquireKeyed(n, "b", 4)
	f.checkGrant(second, 4)
	f.releaseLease(n, second[0], second[0].Created)
	f.advance(time.Second)
	f.checkGrant(f.acquireKeyed(n, "b", 4), 4) // not what was released
	wrong := f.newNode(small(2))               // its clock is wrong from the start
	wrong.off.Store(year.Milliseconds())
	f.checkGrant(f.acquireKeyed(wrong, "c", 4), 4)
	f.checkGrant(f.acquireKeyed(n, "c", 4), 4) // not what begins in a year
}

// testRequestKeyForgotten checks that what is kept for request keys goes away.
func testRequestKeyForgotten(f *fixture) {
	n := f.newNode(fresh())
	count := func(prefix byte) int {
		return len(scan(f, f.Open(f.T, f.name), lease.DefaultService, []byte{prefix}, []byte{prefix + 1}, 1000))
	}
	for i := range 30 {
		f.checkGrant(f.acquireKeyed(n, fmt.Sprint("key", i), 1), 1)
	}
	if r, x := count('r'), count('x'); r != 30 || x != 30 {
		f.Fatalf("there are %d records of requests and %d entries to forget them, want 30", r, x)
	}
	f.advance(time.Hour)
	for i := range 15 { // keys that were used before: the old records do not take the new ones along
		f.checkGrant(f.acquireKeyed(n, fmt.Sprint("key", i), 1), 1)
	}
	if r, x := count('r'), count('x'); r != 15 || x != 15 {
		f.Errorf("an hour later there are %d records of requests and %d entries to forget them, want 15", r, x)
	}
}

// testConcurrentRequestKey sends one request many times at once: one answer.
func testConcurrentRequestKey(f *fixture) {
	nodes := []*node{f.newNode(fresh()), f.newNode(fresh())}
	for round := range 5 {
		answers := make([][]idgen.Lease, 8)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				leases, err := nodes[i%2].Acquire(f.Context(), idgen.AcquireRequest{RequestKey: fmt.Sprint(round)})
				if err != nil {
					f.Error(err)
				}
				answers[i] = leases
			})
		}
		group.Wait()
		for _, answer := range answers {
			if !slices.Equal(answer, answers[0]) {
				f.Fatalf("round %d: one answer is %+v, another %+v", round, answers[0], answer)
			}
		}
		f.checkGrant(answers[0], 1)
	}
}
