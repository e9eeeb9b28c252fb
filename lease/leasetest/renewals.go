// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// plain is a plain service of two machine ids, whose leases last for duration.
func plain(duration time.Duration) lease.Options {
	options := small(5)
	options.Default.Plain, options.Default.Duration = true, duration
	return options
}

// renewal returns a request to renew l.
func renewal(l idgen.Lease) lease.RenewRequest {
	return lease.RenewRequest{ID: l.ID, BitSeq: l.BitSeq, Created: l.Created, Secret: l.Secret}
}

// testRenew checks that a renewal keeps the positions from others for as long as
// it says, and that no renewal shortens another one.
func testRenew(f *fixture) {
	n := f.newNode(plain(10 * time.Second))
	l, other := f.acquireLease(n, 1)[0], f.acquireLease(n, 1)[0]
	for range 3 {
		f.advance(6 * time.Second)
		if left := f.renewLease(n, renewal(l)); left != 10_000 {
			f.Errorf("renewed for %d ms, want 10 s", left)
		}
	}
	behind := f.newNode(plain(10 * time.Second))
	behind.off.Store(-5000)
	if left := f.renewLease(behind, renewal(l)); left != 10_000 {
		f.Errorf("renewed by a clock that is behind, it has %d ms left, want 10 s", left)
	}
	if again := f.acquireLease(n, 1)[0]; again.ID != other.ID {
		f.Errorf("machine %d is granted, though it was renewed", again.ID)
	}
	var none *lease.ExhaustedError
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("got %v, want *ExhaustedError", err)
	}
	f.advance(10 * time.Second)
	if next := f.acquireLease(n, 1)[0]; next.Created != f.now.Load() {
		f.Errorf("after the end of a renewed lease the next one begins at +%d", next.Created-f.now.Load())
	}
}

// testRenewCut checks that the first renewal cuts a lease whose holder uses less
// of it, and no later renewal does.
func testRenewCut(f *fixture) {
	long, short := f.newNode(plain(time.Hour)), f.newNode(plain(10*time.Second))
	var err error
	if short.server, err = long.server.WithDuration(10 * time.Second); err != nil {
		f.Fatal(err)
	}
	l := f.acquireLease(long, 1)[0]
	req := renewal(l)
	req.Uses = 20 * time.Second
	if left := f.renewLease(short, req); left != 20_000 {
		f.Errorf("%d ms are left, want the 20 s that the holder may use", left)
	}
	f.advance(15 * time.Second)
	if left := f.renewLease(short, req); left != 10_000 {
		f.Errorf("%d ms are left, want 10 s", left)
	}
	f.renewLease(long, req)
	if left := f.renewLease(short, req); left != 3_600_000 {
		f.Errorf("%d ms are left, want the hour of the renewal before", left)
	}
}

// testRenewRefused checks what is not renewed.
func testRenewRefused(f *fixture) {
	n := f.newNode(plain(10 * time.Second))
	l := f.acquireLease(n, 1)[0]
	for _, c := range []struct {
		name  string
		forge func(*lease.RenewRequest)
		want  error
	}{
		{"secret", func(r *lease.RenewRequest) { r.Secret = r.Secret[1:] + "x" }, lease.ErrSignature},
		{"id", func(r *lease.RenewRequest) { r.ID = 1 - r.ID }, lease.ErrNotFound},
		{"large id", func(r *lease.RenewRequest) { r.ID = 2 }, lease.ErrInvalid},
		{"created", func(r *lease.RenewRequest) { r.Created++ }, lease.ErrNotFound},
		{"service", func(r *lease.RenewRequest) { r.ServiceID = "other" }, lease.ErrNotFound},
		{"uses", func(r *lease.RenewRequest) { r.Uses = -1 }, lease.ErrInvalid},
	} {
		req := renewal(l)
		c.forge(&req)
		if _, err := n.server.Renew(f.Context(), req); !errors.Is(err, c.want) {
			f.Errorf("wrong %s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := f.newNode(small(5)).server.Renew(f.Context(), renewal(l)); !errors.Is(err, lease.ErrInvalid) {
		f.Errorf("by a service that is not plain: got %v, want ErrInvalid", err)
	}
	f.advance(10 * time.Second)
	if _, err := n.server.Renew(f.Context(), renewal(l)); !errors.Is(err, lease.ErrNotRenewable) {
		f.Errorf("at its end: got %v, want ErrNotRenewable", err)
	}
	second := f.acquireLease(n, 1)[0]
	f.releaseLease(n, second, f.now.Load())
	if _, err := n.server.Renew(f.Context(), renewal(second)); !errors.Is(err, lease.ErrNotRenewable) {
		f.Errorf("after its release: got %v, want ErrNotRenewable", err)
	}
}

// testPlain checks what a plain service grants to holders that look at no clock:
// nothing that begins later, nothing before a lease that lies ahead, and the
// positions free for longest.
func testPlain(f *fixture) {
	n := f.newNode(plain(10 * time.Second))
	first, second := f.acquireLease(n, 1)[0], f.acquireLease(n, 1)[0]
	f.advance(9_500 * time.Millisecond)
	var none *lease.ExhaustedError
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("half a second before a lease ends: got %v, want *ExhaustedError", err)
	}
	f.advance(time.Second)
	if l := f.acquireLease(n, 1)[0]; l.ID != first.ID || l.Created != f.now.Load() {
		f.Errorf("machine %d is granted from +%d, want %d at once", l.ID, l.Created-f.now.Load(), first.ID)
	}
	ahead := f.newNode(plain(10 * time.Second))
	ahead.off.Store(30_000)
	if l := f.acquireLease(ahead, 1)[0]; l.ID != second.ID {
		f.Errorf("machine %d is granted, want %d", l.ID, second.ID)
	}
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("before a lease that lies ahead: got %v, want *ExhaustedError", err)
	}
}

// testPlainShortened checks that positions which were leased for longer than they are
// now are free when their lease ends, since no client continues it.
func testPlainShortened(f *fixture) {
	long := f.newNode(plain(time.Hour))
	first := f.acquireLease(long, 1)[0]
	f.acquireLease(long, 1)
	f.advance(time.Hour)
	// The ledger takes holders for such that continue, so it is not asked.
	leases, err := f.newNode(plain(10*time.Second)).Acquire(f.Context(), idgen.AcquireRequest{})
	if err != nil || leases[0].ID != first.ID || leases[0].Created != f.now.Load() {
		f.Errorf("got %+v, %v, want machine %d at once", leases, err, first.ID)
	}
}

// testPlainClock checks that a plain service does not believe a clock that jumps
// ahead by less than a lease.
func testPlainClock(f *fixture) {
	n := f.newNode(plain(time.Hour))
	f.acquireLease(n, 1)
	f.acquireLease(n, 1)
	f.advance(40 * time.Minute)
	n.off.Store((30 * time.Minute).Milliseconds())
	var none *lease.ExhaustedError
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("after a jump of the clock: got %v, want *ExhaustedError", err)
	}
	f.advance(20 * time.Minute)
	if l := f.acquireLease(n, 1)[0]; l.Created != f.now.Load() {
		f.Errorf("the lease begins at +%d, want now", l.Created-f.now.Load())
	}
}
