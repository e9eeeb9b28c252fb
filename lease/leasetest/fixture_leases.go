// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// acquireWithin acquires on a budget, which is asked of the server itself: what it
// travels in does not pass a network.
func (f *fixture) acquireWithin(n *node, account string, perMs int, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	f.Helper()
	budget := &lease.Budget{Account: account, PerMs: perMs}
	leases, err := n.server.Acquire(lease.WithBudget(f.Context(), budget), req)
	if err == nil && !budget.IsApplied() {
		f.Error("the server has not applied the budget")
	}
	return leases, err
}

// acquireNow acquires a lease of the default service and checks that it begins at
// the right time, give or take a second.
func (f *fixture) acquireNow(n *node, what string) idgen.Lease {
	f.Helper()
	l := f.acquireLease(n, 1)[0]
	if ahead := time.Duration(l.Created-f.now.Load()) * time.Millisecond; ahead.Abs() > time.Second {
		f.Fatalf("%s: the lease begins %v from now", what, ahead)
	}
	return l
}

// signLiteral returns the release of the specification's section 4.1: it says
// nothing but the id, and when it was signed.
func (f *fixture) signLiteral(l idgen.Lease) idgen.ReleaseRequest {
	req := idgen.ReleaseRequest{ID: l.ID, Timestamp: f.now.Load()}
	mac := hmac.New(sha256.New, []byte(l.Secret))
	fmt.Fprintf(mac, "%d:%d", req.ID, req.Timestamp)
	req.Signature = hex.EncodeToString(mac.Sum(nil))
	return req
}

// acquireFor acquires a lease of a service.
func (f *fixture) acquireFor(n *node, service string) ([]idgen.Lease, error) {
	return n.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: service})
}

// listAll returns all pages of the default service.
func (f *fixture) listAll(n *node, options lease.ListOptions) []lease.Info {
	f.Helper()
	var all []lease.Info
	for {
		page, err := n.server.List(f.Context(), "", options)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, page.Leases...)
		if options.After = page.Next; page.Next == "" {
			return all
		}
	}
}

// signRelease returns a request to release l that is signed now.
func (f *fixture) signRelease(l idgen.Lease, lastTs int64) idgen.ReleaseRequest {
	return l.Release("", lastTs, time.UnixMilli(f.now.Load()))
}

// renewLease renews a lease, which has to succeed, and returns its end from now.
func (f *fixture) renewLease(n *node, req lease.RenewRequest) (left int64) {
	f.Helper()
	l, err := n.server.Renew(f.Context(), req)
	if err != nil {
		f.Fatal(err)
	}
	if l.ID != req.ID || l.Created != req.Created || l.Secret != req.Secret {
		f.Fatalf("renewed %+v as %+v", req, l)
	}
	return l.Expired - f.now.Load()
}

// acquireKeyed asks with a request key.
func (f *fixture) acquireKeyed(n *node, key string, throughput int) []idgen.Lease {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{RequestKey: key, ThroughputPerMs: throughput})
	if err != nil {
		f.Fatal(err)
	}
	return leases
}

// wantNearNow checks that no lease begins at a time to which only a clock jumped: no
// further ahead than a lease lasts, and servers disagree.
func (f *fixture) wantNearNow(leases []idgen.Lease) {
	f.Helper()
	for _, l := range leases {
		if ahead := l.Created - f.now.Load(); ahead > 600_000+22_000 {
			f.Fatalf("the lease begins %v ahead: %+v", time.Duration(ahead)*time.Millisecond, l)
		}
	}
}

// randomRelease releases a lease that may have ended.
func (f *fixture) randomRelease(r *rand.Rand, n *node, l idgen.Lease) {
	now := f.now.Load()
	last := min(max(l.Created-1, now-int64(r.IntN(1000))), l.Expired-1)
	err := n.Release(f.Context(), f.signRelease(l, last))
	if err != nil && !errors.Is(err, lease.ErrNotFound) {
		f.Fatal(err)
	}
	if now < l.Expired {
		f.ledger.AddRelease(l, last)
	}
}

// acquireLease asks for leases of the default service, which have to be granted, and
// enters them into the ledger.
func (f *fixture) acquireLease(n *node, throughput int) []idgen.Lease {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: throughput})
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(leases, throughput)
	return leases
}

// checkGrant checks leases and enters them into the ledger.
func (f *fixture) checkGrant(leases []idgen.Lease, throughput int) {
	f.Helper()
	if total := throughputOf(leases); total < max(throughput, 1) {
		f.Fatalf("asked for %d positions, got %d", throughput, total)
	}
	if err := f.ledger.AddGrant(leases...); err != nil {
		f.Fatal(err)
	}
}

func throughputOf(leases []idgen.Lease) int {
	total := 0
	for _, l := range leases {
		total += l.ThroughputPerMs()
	}
	return total
}

// releaseLease gives a lease of the default service back, which has to succeed.
func (f *fixture) releaseLease(n *node, l idgen.Lease, lastTs int64) {
	f.Helper()
	if err := n.Release(f.Context(), l.Release("", lastTs, time.UnixMilli(f.now.Load()))); err != nil {
		f.Fatal(err)
	}
	f.ledger.AddRelease(l, lastTs)
}
