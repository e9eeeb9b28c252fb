// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"errors"
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

// testConcurrent acquires and releases from many goroutines through several
// servers: what they hold is disjoint.
func testConcurrent(f *fixture) {
	nodes := []*node{f.newNode(fresh()), f.newNode(fresh()), f.newNode(fresh())}
	const workers, each = 12, 12
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			n := nodes[w%len(nodes)]
			for i := range each {
				throughput := 1 << (6 + (w+i)%5)
				leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: throughput})
				if err != nil {
					f.Error(err)
					return
				}
				if err := f.ledger.AddGrant(leases...); err != nil {
					f.Error(err)
				}
				if i%3 == 0 {
					f.ledger.AddRelease(leases[0], leases[0].Created) // before it is granted again
					if err := n.Release(f.Context(), f.signRelease(leases[0], leases[0].Created)); err != nil {
						f.Error(err)
					}
				}
				f.advance(time.Millisecond)
			}
		})
	}
	group.Wait()
	if got := f.ledger.Len(); got < workers*each {
		f.Errorf("%d leases were granted, want at least %d", got, workers*each)
	}
}

// testProcesses lets processes acquire at the same time.
func testProcesses(f *fixture) {
	if f.Process == nil {
		f.Skip("one process has the store for itself")
	}
	const processes = 4
	outputs := make([][]byte, processes)
	var group sync.WaitGroup
	for i := range processes {
		cmd := f.Process(f.T, f.name)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		group.Go(func() {
			out, err := cmd.Output()
			if err != nil {
				f.Errorf("process %d: %v\n%s", i, err, stderr.Bytes())
			}
			outputs[i] = out
		})
	}
	group.Wait()
	if f.Failed() {
		return
	}
	for i, output := range outputs {
		if err := f.readWork(output); err != nil {
			f.Errorf("process %d: %v", i, err)
		}
	}
	if got := f.ledger.Len(); got < processes*workLeases {
		f.Errorf("%d leases were granted, want at least %d", got, processes*workLeases)
	}
	n := &node{}
	server, err := lease.NewServer(f.Open(f.T, f.name), lease.Options{})
	if err != nil {
		f.Fatal(err)
	}
	n.server, n.LeaseProvider = server, server
	f.acquireLease(n, 1)
}

// testEnumerate checks that a store tells which services it knows, where it can.
func testEnumerate(f *fixture) {
	store := f.Open(f.T, f.name)
	server, err := lease.NewServer(store, fresh())
	if err != nil {
		f.Fatal(err)
	}
	list := func(after string, limit int) []string {
		f.Helper()
		ids, err := server.Services(f.Context(), after, limit)
		if err != nil {
			f.Fatal(err)
		}
		return ids
	}
	if _, err := store.Services(f.Context(), "", 1); errors.Is(err, errors.ErrUnsupported) {
		if _, err := server.Services(f.Context(), "", 0); !errors.Is(err, errors.ErrUnsupported) {
			f.Errorf("a store that cannot: %v", err)
		}
		return
	}
	if got := list("", 0); len(got) != 0 {
		f.Errorf("an empty store knows %q", got)
	}
	want := []string{"a", "a.b", "a/b:c", "b", "default"}
	for _, id := range []string{"b", "a/b:c", "", "a", "a.b", "b"} {
		if _, err := server.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: id}); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := server.List(f.Context(), "c", lease.ListOptions{}); err != nil {
		f.Fatal(err)
	}
	for i := range want {
		for limit := 1; limit <= len(want)+1; limit++ {
			after := ""
			if i > 0 {
				after = want[i-1]
			}
			if got := list(after, limit); !slices.Equal(got, want[i:min(i+limit, len(want))]) {
				f.Errorf("%d after %q: got %q of %q", limit, after, got, want)
			}
		}
	}
	if _, err := server.Services(f.Context(), "", -1); !errors.Is(err, lease.ErrInvalid) {
		f.Errorf("a limit of -1: %v", err)
	}
}

// few permits three services that are not configured.
func few() lease.Options {
	o := small(2)
	o.MaxServices = 3
	o.Services = map[string]lease.ServiceConfig{"listed": o.Default}
	return o
}

// testMadeUpServices asks for ever more services: the store has no more of them
// than is permitted. Those that hold nothing make room.
func testMadeUpServices(f *fixture) {
	f.wantServices()
	n, other := f.newNode(few()), f.newNode(few())
	for _, id := range []string{"a", "b", "c", "listed", "", "default", "b"} {
		if _, err := f.acquireFor(n, id); err != nil {
			f.Errorf("service %q: %v", id, err)
		}
	}
	for i := range 5 {
		for _, n := range []*node{n, other} {
			if leases, err := f.acquireFor(n, fmt.Sprint("more", i)); !errors.Is(err, lease.ErrTooManyServices) || leases != nil {
				f.Fatalf("one more: got %+v and %v, want ErrTooManyServices", leases, err)
			}
		}
	}
	if _, err := f.acquireFor(other, "a"); err != nil {
		f.Errorf("a service that is there, by another server: %v", err)
	}
	for round := range 6 {
		f.advance(40 * time.Minute) // the leases have ended, and are continued no more
		for i := range 3 {
			if _, err := f.acquireFor(n, fmt.Sprint("round", round, "-", i)); err != nil {
				f.Errorf("in place of a service that holds nothing: %v", err)
			}
		}
		if _, err := f.acquireFor(n, "more"); !errors.Is(err, lease.ErrTooManyServices) {
			f.Errorf("got %v, want ErrTooManyServices", err)
		}
	}
	services, err := n.server.Services(f.Context(), "", 0)
	if want := []string{"default", "listed", "round5-0", "round5-1", "round5-2"}; err == nil && !slices.Equal(services, want) {
		f.Errorf("the store has %q, want %q", services, want)
	}
	store := f.Open(f.T, f.name)
	for _, id := range []string{"a", "round0-0"} {
		if left := scan(f, store, id, []byte{0}, []byte{0xff}, 10); len(left) != 0 {
			f.Errorf("of service %q %d keys are left", id, len(left))
		}
	}
}

// testRemovedService removes a service and makes it again, and again: nothing is
// leased twice, even by a server with a slow clock, and a server that knew the service
// before does not take it for a loss.
func testRemovedService(f *fixture) {
	n, knows := f.newNode(few()), f.newNode(few())
	for round := range 6 {
		for range 16 {
			leases, err := f.acquireFor(n, "a")
			if err != nil {
				f.Fatal(err)
			}
			if err := f.ledger.AddGrant(leases...); err != nil {
				f.Fatalf("round %d: %v", round, err)
			}
			f.advance(time.Second)
		}
		f.advance(35 * time.Minute)
		for i := range 3 { // they drive it out
			if _, err := f.acquireFor(n, fmt.Sprint("b", round, "-", i)); err != nil {
				f.Fatal(err)
			}
		}
		if _, err := f.acquireFor(n, "a"); !errors.Is(err, lease.ErrTooManyServices) {
			f.Fatalf("round %d: the service was not removed: %v", round, err)
		}
		f.advance(35 * time.Minute)
		slow := f.newNode(few())
		slow.off.Store(-(65 * time.Minute).Milliseconds()) // when the removed leases were in force
		if leases, err := f.acquireFor(n, "a"); err != nil || f.ledger.AddGrant(leases...) != nil {
			f.Fatalf("round %d: %+v, %v", round, leases, err)
		}
		for range 15 { // by a clock of before the removal
			leases, err := f.acquireFor(slow, "a")
			if errors.Is(err, lease.ErrExhausted) {
				break // nothing is free then
			}
			if err != nil {
				f.Fatal(err)
			}
			if err := f.ledger.AddGrant(leases...); err != nil {
				f.Fatalf("round %d, by a slow clock: %v", round, err)
			}
		}
		if leases, err := f.acquireFor(knows, "a"); err != nil || f.ledger.AddGrant(leases...) != nil {
			f.Fatalf("round %d, a server that knew it: %+v, %v", round, leases, err)
		}
		f.advance(time.Hour)
	}
}

// testOthersServices lets a server meet services that only another server lists,
// with an epoch of their own: it does not remove them, and what it removes keeps
// no service from being made.
func testOthersServices(f *fixture) {
	f.wantServices()
	lists := few()
	apart := lists.Default
	apart.Layout.CustomEpoch -= 1000
	lists.Services = map[string]lease.ServiceConfig{"apart": apart}
	owner, n := f.newNode(lists), f.newNode(few())
	if _, err := f.acquireFor(owner, "apart"); err != nil {
		f.Fatal(err)
	}
	for round := range 3 {
		f.advance(40 * time.Minute)
		for i := range 2 {
			if _, err := f.acquireFor(n, fmt.Sprint("round", round, "-", i)); err != nil {
				f.Fatalf("round %d: %v", round, err)
			}
		}
		if _, err := f.acquireFor(n, "more"); !errors.Is(err, lease.ErrTooManyServices) {
			f.Fatalf("round %d: got %v, want ErrTooManyServices", round, err)
		}
		if len(scan(f, f.Open(f.T, f.name), "apart", []byte{0}, []byte{0xff}, 10)) == 0 {
			f.Fatalf("round %d: the service of another server was removed", round)
		}
	}
}
