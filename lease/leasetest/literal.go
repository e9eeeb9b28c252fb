// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testReleaseLiteral releases leases of several sizes as the specification has
// it: it needs the lease's own secret, and frees nothing before the lease's end,
// since it does not say until when IDs were made.
func testReleaseLiteral(f *fixture) {
	n := f.newNode(small(2))
	for _, throughput := range []int{4, 8, 16} {
		l := f.acquireLease(n, throughput)[0]
		req := f.signLiteral(l)
		forged := req
		forged.Signature = f.signLiteral(idgen.Lease{ID: l.ID, Secret: "another"}).Signature
		if err := n.Release(f.Context(), forged); !errors.Is(err, lease.ErrSignature) {
			f.Errorf("machine %d, forged: got %v, want ErrSignature", l.ID, err)
		}
		later := req
		later.Timestamp++
		if err := n.Release(f.Context(), later); !errors.Is(err, lease.ErrSignature) {
			f.Errorf("machine %d, another timestamp: got %v, want ErrSignature", l.ID, err)
		}
		for range 2 {
			if err := n.Release(f.Context(), req); err != nil {
				f.Errorf("machine %d: %v", l.ID, err)
			}
		}
		if got := f.listAll(n, lease.ListOptions{}); len(got) != 0 {
			f.Errorf("machine %d is listed as active after its release: %+v", l.ID, got)
		}
	}
	for _, id := range []int64{-1, 32} {
		if err := n.Release(f.Context(), f.signLiteral(idgen.Lease{ID: id, Secret: "s"})); !errors.Is(err, lease.ErrInvalid) {
			f.Errorf("machine %d: got %v, want ErrInvalid", id, err)
		}
	}
	if err := n.Release(f.Context(), f.signLiteral(idgen.Lease{ID: 31, Secret: "s"})); !errors.Is(err, lease.ErrNotFound) {
		f.Errorf("a machine that has no lease: got %v, want ErrNotFound", err)
	}
	testLiteralFreesNothing(f, n)
}

// testLiteralFreesNothing fills the space with leases that are released so. The
// ledger takes none of these releases into account.
func testLiteralFreesNothing(f *fixture, n *node) {
	for {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{RequestKey: "last"})
		if errors.Is(err, lease.ErrExhausted) {
			break
		}
		if err != nil {
			f.Fatal(err)
		}
		f.checkGrant(leases, 1)
		if err := n.Release(f.Context(), f.signLiteral(leases[0])); err != nil {
			f.Fatal(err)
		}
		f.advance(time.Millisecond)
	}
	f.advance(10 * time.Minute)
	for range 16 {
		f.acquireLease(n, 1)
	}
}
