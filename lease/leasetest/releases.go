// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// testRelease checks that what is released can be leased again, after the last
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
		{"bitSeq", func(r *idgen.ReleaseRequest) { r.SequenceBits, r.ID = 4, r.ID*2 }, lease.ErrNotFound},
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

// testReleaseRepeated checks that a release can be repeated, even when the
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

// plain is a plain service of two machine ids, with leases of a duration.
func plain(duration time.Duration) lease.Options {
	options := small(5)
	options.Default.Plain, options.Default.Duration = true, duration
	return options
}

// testRenew checks that a renewal keeps the positions from others for as long as
// it says, and that no renewal shortens another one.
func testRenew(f *fixture) {
	n := f.newNode(plain(10 * time.Second))
	l, other := f.acquireLease(n, 1)[0], f.acquireLease(n, 1)[0]
	for range 3 {
		f.advance(6 * time.Second)
		if left := f.renewLease(n, l, 0); left != 10_000 {
			f.Errorf("renewed for %d ms, want 10 s", left)
		}
	}
	slow := f.newNode(plain(10 * time.Second))
	slow.off.Store(-5000)
	if left := f.renewLease(slow, l, 0); left != 10_000 {
		f.Errorf("renewed by a clock that is slow, it has %d ms left, want 10 s", left)
	}
	if again := f.acquireLease(n, 1)[0]; again.ID != other.ID {
		f.Errorf("machine %d is granted, though it was renewed", again.ID)
	}
	var none *refusal.ExhaustedError
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("got %v, want *ExhaustedError", err)
	}
	f.advance(10 * time.Second)
	if next := f.acquireLease(n, 1)[0]; next.Created != f.now.Load() {
		f.Errorf("after the end of a renewed lease the next one begins at +%d", next.Created-f.now.Load())
	}
}

// testRenewCut checks that the first renewal cuts a lease of which the holder uses
// less, and no later renewal does.
func testRenewCut(f *fixture) {
	long, short := f.newNode(plain(time.Hour)), f.newNode(plain(10*time.Second))
	var err error
	if short.server, err = long.server.WithDuration(10 * time.Second); err != nil {
		f.Fatal(err)
	}
	l := f.acquireLease(long, 1)[0]
	const uses = 20 * time.Second
	if left := f.renewLease(short, l, uses); left != 20_000 {
		f.Errorf("%d ms are left, want the 20 s that the holder may use", left)
	}
	f.advance(15 * time.Second)
	if left := f.renewLease(short, l, uses); left != 10_000 {
		f.Errorf("%d ms are left, want 10 s", left)
	}
	f.renewLease(long, l, uses)
	if left := f.renewLease(short, l, uses); left != 3_600_000 {
		f.Errorf("%d ms are left, want the hour of the renewal before", left)
	}
}

// testRenewRefused checks what is not renewed.
func testRenewRefused(f *fixture) {
	n := f.newNode(plain(10 * time.Second))
	l := f.acquireLease(n, 1)[0]
	for _, c := range []struct {
		name, service string
		forge         func(*idgen.Lease)
		uses          time.Duration
		want          error
	}{
		{name: "secret", forge: func(l *idgen.Lease) { l.Secret = l.Secret[1:] + "x" }, want: lease.ErrSignature},
		{name: "id", forge: func(l *idgen.Lease) { l.ID = 1 - l.ID }, want: lease.ErrNotFound},
		{name: "large id", forge: func(l *idgen.Lease) { l.ID = 2 }, want: lease.ErrInvalid},
		{name: "created", forge: func(l *idgen.Lease) { l.Created++ }, want: lease.ErrNotFound},
		{name: "service", service: "other", want: lease.ErrNotFound},
		{name: "uses", uses: -1, want: lease.ErrInvalid},
	} {
		forged := l
		if c.forge != nil {
			c.forge(&forged)
		}
		if _, err := n.server.Renew(f.Context(), c.service, forged, c.uses); !errors.Is(err, c.want) {
			f.Errorf("wrong %s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := f.newNode(small(5)).server.Renew(f.Context(), "", l, 0); !errors.Is(err, lease.ErrInvalid) {
		f.Errorf("by a service that is not plain: got %v, want ErrInvalid", err)
	}
	f.advance(10 * time.Second)
	if _, err := n.server.Renew(f.Context(), "", l, 0); !errors.Is(err, lease.ErrNotRenewable) {
		f.Errorf("at its end: got %v, want ErrNotRenewable", err)
	}
	second := f.acquireLease(n, 1)[0]
	f.releaseLease(n, second, f.now.Load())
	if _, err := n.server.Renew(f.Context(), "", second, 0); !errors.Is(err, lease.ErrNotRenewable) {
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
	var none *refusal.ExhaustedError
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
	var none *refusal.ExhaustedError
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.As(err, &none) {
		f.Errorf("after a jump of the clock: got %v, want *ExhaustedError", err)
	}
	f.advance(20 * time.Minute)
	if l := f.acquireLease(n, 1)[0]; l.Created != f.now.Load() {
		f.Errorf("the lease begins at +%d, want now", l.Created-f.now.Load())
	}
}
