// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

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
	f.wantEnumerator()
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
// leased twice, also by a server whose clock is behind, and it is no loss to a
// server that knew the service before.
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
				f.Fatalf("round %d, by a clock that is behind: %v", round, err)
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
	f.wantEnumerator()
	lists := few()
	apart := lists.Default
	apart.Layout.CustomEpochMs -= 1000
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
