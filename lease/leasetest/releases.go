// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testRelease checks that what is released can be leased again, behind the last
// millisecond that was used.
func testRelease(f *fixture) {
	n := f.newNode(small(5)) // two machine ids
	f.acquireLease(n, 1)
	l := f.acquireLease(n, 1)[0]
	f.advance(5 * time.Second)
	f.releaseLease(n, l, f.now.Load())
	next := f.acquireLease(n, 1)[0]
	if next.ID != l.ID || next.Created != f.now.Load()+1 {
		f.Errorf("machine %d begins at +%d, want %d at +1", next.ID, next.Created-f.now.Load(), l.ID)
	}
	f.releaseLease(n, next, next.Created-1) // nothing was made: it can begin there again
	if third := f.acquireLease(n, 1)[0]; third.Created != next.Created {
		f.Errorf("begins at %d, want %d", third.Created, next.Created)
	}
}

// testReleaseForged checks that only the holder can release, within the lease.
func testReleaseForged(f *fixture) {
	n := f.newNode(small(5))
	l := f.acquireLease(n, 1)[0]
	for _, c := range []struct {
		name  string
		forge func(*idgen.ReleaseRequest)
		want  error
	}{
		{"signature", func(r *idgen.ReleaseRequest) { r.Signature = r.Signature[:63] + "x" }, lease.ErrSignature},
		{"no signature", func(r *idgen.ReleaseRequest) { r.Signature = "" }, lease.ErrSignature},
		{"lastTs", func(r *idgen.ReleaseRequest) { r.LastTs++ }, lease.ErrSignature},
		{"timestamp", func(r *idgen.ReleaseRequest) { r.Timestamp++ }, lease.ErrSignature},
		{"service", func(r *idgen.ReleaseRequest) { r.ServiceID = lease.DefaultService }, lease.ErrSignature},
		{"another service", func(r *idgen.ReleaseRequest) { r.ServiceID = "other" }, lease.ErrNotFound},
		{"id", func(r *idgen.ReleaseRequest) { r.ID = 1 - r.ID }, lease.ErrNotFound},
		{"bitSeq", func(r *idgen.ReleaseRequest) { r.BitSeq, r.ID = 4, r.ID*2 }, lease.ErrNotFound},
		{"created", func(r *idgen.ReleaseRequest) { r.Created-- }, lease.ErrNotFound},
	} {
		req := f.signRelease(l, l.Created)
		c.forge(&req)
		if err := n.Release(f.Context(), req); !errors.Is(err, c.want) {
			f.Errorf("wrong %s: got %v, want %v", c.name, err, c.want)
		}
	}
	for _, lastTs := range []int64{0, l.Created - 2, l.Expired, l.Expired + 1} {
		if err := n.Release(f.Context(), f.signRelease(l, lastTs)); !errors.Is(err, lease.ErrLastTs) {
			f.Errorf("last used at %d: got %v, want ErrLastTs", lastTs, err)
		}
	}
	for _, off := range []int64{-31_000, 31_000, -1 << 58, 1 << 58} { // 2^58 ms are 0 ns, modulo 2^64
		req := f.signRelease(l, l.Created)
		req.Timestamp = f.now.Load() + off
		req.Signature = req.Sign(l.Secret)
		if err := n.Release(f.Context(), req); !errors.Is(err, lease.ErrExpiredTimestamp) {
			f.Errorf("signed %d ms from now: got %v, want ErrExpiredTimestamp", off, err)
		}
	}
	if got := f.listAll(n, lease.ListOptions{}); len(got) != 1 || !got[0].Active {
		f.Errorf("after all that the lease is listed as %+v", got)
	}
}

// testReleaseRepeated checks that a release can be repeated, also when the
// positions were granted again since, and that it cannot be taken back.
func testReleaseRepeated(f *fixture) {
	n := f.newNode(small(5))
	f.acquireLease(n, 1)
	l := f.acquireLease(n, 1)[0]
	req := f.signRelease(l, l.Created+3)
	f.releaseLease(n, l, l.Created+3)
	if err := n.Release(f.Context(), req); err != nil {
		f.Errorf("the same request: %v", err)
	}
	f.advance(4 * time.Millisecond)
	if err := n.Release(f.Context(), f.signRelease(l, l.Created+3)); err != nil {
		f.Errorf("signed once more: %v", err)
	}
	if err := n.Release(f.Context(), f.signRelease(l, l.Created+2)); !errors.Is(err, lease.ErrLastTs) {
		f.Errorf("with another last use: got %v, want ErrLastTs", err)
	}
	next := f.acquireLease(n, 1)[0]
	if err := n.Release(f.Context(), req); err != nil {
		f.Errorf("after the next lease: %v", err)
	}
	if got := f.listAll(n, lease.ListOptions{}); len(got) != 2 {
		f.Errorf("the next lease, %+v, is gone: %+v", next, got)
	}
}

// testReleaseLate checks that a release after the end changes nothing: the
// holder may have continued the lease by then.
func testReleaseLate(f *fixture) {
	n := f.newNode(small(5))
	l, other := f.acquireLease(n, 1)[0], f.acquireLease(n, 1)[0]
	f.advance(10*time.Minute - time.Second)
	f.releaseLease(n, other, other.Created)
	// The holder's clock says that the lease is over, the store's that it is not.
	early := l.Release("", l.Expired-1, time.UnixMilli(l.Expired+1))
	if err := n.Release(f.Context(), early); err != nil {
		f.Errorf("signed after the end: %v", err)
	}
	f.advance(2 * time.Second)
	if err := n.Release(f.Context(), f.signRelease(l, l.Created+1)); err != nil {
		f.Errorf("released after the end: %v", err)
	}
	for range 2 {
		if next := f.acquireLease(n, 1)[0]; next.ID == l.ID && next.Expired < l.Expired+l.Duration().Milliseconds() {
			f.Errorf("the next lease ends at %d, while this one is continued until %d", next.Expired, l.Expired+l.Duration().Milliseconds())
		}
	}
}

// testReleaseReplayed checks that recorded releases have no effect on later leases.
func testReleaseReplayed(f *fixture) {
	n := f.newNode(small(5))
	f.acquireLease(n, 1)
	var recorded []idgen.ReleaseRequest
	for range 6 {
		l := f.acquireLease(n, 1)[0]
		f.advance(time.Millisecond)
		recorded = append(recorded, f.signRelease(l, l.Created))
		f.releaseLease(n, l, l.Created)
		f.advance(time.Millisecond)
	}
	f.acquireLease(n, 1)
	for i, req := range recorded {
		if err := n.Release(f.Context(), req); i < 5 && !errors.Is(err, lease.ErrNotFound) || i == 5 && err != nil {
			f.Errorf("replay of release %d: %v", i, err)
		}
	}
	if got := f.listAll(n, lease.ListOptions{}); len(got) != 2 {
		f.Errorf("after the replays there are %d leases, want 2: %+v", len(got), got)
	}
}
