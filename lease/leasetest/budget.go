// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
)

// testBudget checks that an account cannot have more than its budget: neither
// through other servers, nor by repeating requests after their leases were released
// through another server.
func testBudget(f *fixture) {
	n, other := f.newNode(fresh()), f.newNode(fresh())
	request := func(key string) idgen.AcquireRequest {
		return idgen.AcquireRequest{Throughput: 512, RequestKey: key}
	}
	first, err := f.acquireWithin(n, "a", 1024, request("1"))
	second, again := f.acquireWithin(other, "a", 1024, request("2"))
	if err := errors.Join(err, again); err != nil {
		f.Fatal(err)
	}
	f.checkGrant(slices.Concat(first, second), 1024)
	refused := func(what string, req idgen.AcquireRequest) {
		f.Helper()
		for _, n := range []*node{n, other} {
			leases, err := f.acquireWithin(n, "a", 1024, req)
			var budget *refusal.BudgetError
			if !errors.As(err, &budget) || !errors.Is(err, lease.ErrBudget) || budget.Leased != 1024 || budget.PerMs != 1024 || leases != nil {
				f.Errorf("%s: got %+v and %v, want a BudgetError", what, leases, err)
			}
		}
	}
	refused("a third", request("3"))
	refused("the least", idgen.AcquireRequest{})
	if repeated, err := f.acquireWithin(other, "a", 1024, request("1")); err != nil || !slices.Equal(repeated, first) {
		f.Errorf("repeated: got %+v and %v, want %+v", repeated, err, first)
	}
	if leases, err := f.acquireWithin(n, "b", 256, idgen.AcquireRequest{}); err != nil || f.ledger.AddGrant(leases...) != nil {
		f.Errorf("another account: %v", err)
	}
	f.acquireLease(n, 4096) // on no budget
	f.releaseLease(n, first[0], first[0].Created)
	f.advance(time.Millisecond)
	third, err := f.acquireWithin(other, "a", 1024, request("3"))
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(third, 512)
	refused("the first again, which is not answered from before", request("1"))
	f.advance(10*time.Minute + 30*time.Second)
	if leases, err := f.acquireWithin(n, "a", 1024, idgen.AcquireRequest{Throughput: 1024}); err != nil || f.ledger.AddGrant(leases...) != nil {
		f.Errorf("when all have ended: %v", err)
	}
}

// testBudgetReplaced checks that an account renews the leases that take up all of its
// budget, and that it cannot have more than twice that by naming leases which it does not
// give back.
func testBudgetReplaced(f *fixture) {
	n, other := f.newNode(fresh()), f.newNode(fresh())
	acquire := func(account string, replaces ...idgen.Lease) (idgen.Lease, error) {
		f.Helper()
		return f.acquireReplacing(n, account, 512, 512, replaces)
	}
	granted := func(what string, replaces ...idgen.Lease) idgen.Lease {
		f.Helper()
		l, err := acquire("a", replaces...)
		if err != nil {
			f.Fatalf("%s: %v", what, err)
		}
		return l
	}
	refused := func(what string, replaces ...idgen.Lease) {
		f.Helper()
		if l, err := acquire("a", replaces...); !errors.Is(err, lease.ErrBudget) {
			f.Errorf("%s: got %+v and %v, want a BudgetError", what, l, err)
		}
	}
	theirs, err := acquire("b")
	if err != nil {
		f.Fatal(err)
	}
	last := granted("the first")
	refused("one that replaces none")
	refused("one that replaces another account's", theirs)
	wrong := last
	wrong.Created++
	refused("one that replaces a lease of another time", wrong)
	refused("one that replaces what cannot be", idgen.Lease{ID: 1 << 40, SequenceBits: 9}, idgen.Lease{SequenceBits: 60})
	for range 5 {
		f.advance(5 * time.Minute)
		next := granted("a renewal", last, last)
		refused("one that replaces the same again", last)
		refused("one that replaces two, while neither was given back", last, next)
		f.releaseLease(other, last, last.Created)
		refused("one that replaces what was given back", last)
		last = next
	}
	next := granted("the last one", last)
	f.advance(10*time.Minute + 30*time.Second)
	after := granted("one when all have ended", next)
	refused("two when all have ended", next)
	granted("one that replaces the only one", after)
	if _, err := f.acquireWithin(n, "a", 512, idgen.AcquireRequest{Replaces: make([]idgen.LeaseRef, idgen.MaxReplaces+1)}); !errors.Is(err, lease.ErrInvalid) {
		f.Errorf("too many at once: %v", err)
	}
	f.advance(30 * time.Minute)
	testBudgetReplacedOnce(f, n)
}

// testBudgetReplacedOnce has two leases on a budget for two, which end at the same time:
// each is replaced once, and the replacement of one does not count for the other.
func testBudgetReplacedOnce(f *fixture, n *node) {
	acquire := func(throughput int, replaces ...idgen.Lease) (idgen.Lease, error) {
		f.Helper()
		return f.acquireReplacing(n, "c", 1024, throughput, replaces)
	}
	first, err := acquire(512)
	second, again := acquire(512)
	third, renewed := acquire(512, first)
	if err := errors.Join(err, again, renewed); err != nil {
		f.Fatal(err)
	}
	if _, err := acquire(512, first); !errors.Is(err, lease.ErrBudget) {
		f.Errorf("one in place of the one that was replaced before: %v", err)
	}
	f.releaseLease(n, first, first.Created)
	if _, err := acquire(512); !errors.Is(err, lease.ErrBudget) {
		f.Errorf("one more, when the replaced one was given back: %v", err)
	}
	if _, err := acquire(1024, second, third); err != nil {
		f.Errorf("all for the two: %v", err)
	}
}

// testBudgetReplacedLate checks that a lease which ends in less than a second is replaced by one of
// which its positions become a part: no position is leased twice, and no entry of the queue is stale.
func testBudgetReplacedLate(f *fixture) {
	parts, whole := f.newNode(small(1)), f.newNode(small(5))
	var last []idgen.Lease
	for range 32 {
		leases, err := f.acquireWithin(parts, "a", 64, idgen.AcquireRequest{})
		if err != nil {
			f.Fatal(err)
		}
		f.checkGrant(leases, 2)
		last = append(last, leases...)
	}
	f.advance(10*time.Minute - time.Second/2)
	req := idgen.AcquireRequest{}
	for _, l := range last {
		req.Replaces = append(req.Replaces, l.Ref())
	}
	leases, err := f.acquireWithin(whole, "a", 64, req)
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(leases, 32)
	f.advance(time.Second)
	for range 32 { // as long as there is any
		leases, err := parts.Acquire(f.Context(), idgen.AcquireRequest{})
		if errors.Is(err, lease.ErrExhausted) {
			break
		}
		if err != nil {
			f.Fatal(err)
		}
		f.checkGrant(leases, 2)
	}
}

// testBudgetRandom acquires on a budget, repeats requests and releases at random
// through several servers, and compares with what the account has.
func testBudgetRandom(f *fixture) {
	r := seed.Rand(f.T)
	const most = 24
	var nodes []*node
	for bitSeq := 1; bitSeq <= 3; bitSeq++ {
		store := f.Open(f.T, f.name)
		if bitSeq == 2 {
			store = Hostile(store, r.Uint64())
		}
		nodes = append(nodes, f.newNodeOf(store, small(bitSeq)))
	}
	var held []idgen.Lease
	leased := func(since time.Duration) (total int) {
		for _, l := range held {
			if f.now.Load() < l.Expired+since.Milliseconds() {
				total += l.Throughput()
			}
		}
		return total
	}
	granted, refusals := 0, 0
	for range 400 {
		n := nodes[r.IntN(len(nodes))]
		switch r.IntN(8) {
		case 0:
			f.advance(time.Duration(r.Int64N(int64(3 * time.Minute))))
		case 1, 2:
			if len(held) > 0 {
				i := r.IntN(len(held))
				l := held[i]
				if err := n.Release(f.Context(), f.signRelease(l, l.Created)); err != nil && !errors.Is(err, lease.ErrNotFound) {
					f.Fatal(err)
				}
				if f.now.Load() < l.Expired { // else it counts a little longer
					held = slices.Delete(held, i, i+1)
					f.ledger.AddRelease(l, l.Created)
				}
			}
		default:
			req := idgen.AcquireRequest{Throughput: 1 + r.IntN(8), RequestKey: fmt.Sprint(r.IntN(12))}
			leases, err := f.acquireWithin(n, "a", most, req)
			switch {
			case errors.Is(err, lease.ErrBudget):
				refusals++
				if total := leased(20 * time.Second); total+req.Throughput <= most {
					f.Fatalf("%d positions are refused where %d of %d are leased", req.Throughput, total, most)
				}
			case err == nil && !slices.ContainsFunc(leases, func(l idgen.Lease) bool { return slices.Contains(held, l) }):
				granted++
				if total := leased(0); total+req.Throughput > most {
					f.Fatalf("%d positions are granted where %d of %d are leased", req.Throughput, total, most)
				}
				f.checkGrant(leases, req.Throughput)
				held = append(held, leases...)
			case err != nil && !errors.Is(err, lease.ErrExhausted):
				f.Fatal(err)
			}
		}
	}
	if granted < 20 || refusals < 10 {
		f.Errorf("%d requests were granted and %d refused: the test misses something", granted, refusals)
	}
}
