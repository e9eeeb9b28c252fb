// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
)

// lasting is a service of 16 machine ids with leases of a length.
func lasting(d time.Duration) lease.Options {
	o := small(2)
	o.Default.Duration = d
	return o
}

// testLossShortened loses leases of an hour when leases of a minute have been
// configured: the quarantine lasts until the former have ended, and are continued
// no longer than the new ones begin to be. Once there were none for long enough,
// a quarantine lasts as long as short leases need.
func testLossShortened(f *fixture) {
	store := failover{f.Open(f.T, f.name), new(atomic.Int64)}
	f.acquireLease(f.newNodeOf(store, lasting(time.Hour)), 1)
	n := f.newNodeOf(store, lasting(time.Minute))
	f.acquireLease(n, 1)
	f.loseLeases(store)
	if took, want := f.waitQuarantine(n), 2*time.Hour; took != want { // an hour, one less a minute for the continuation, a minute of skew
		f.Errorf("the quarantine lasts %v, want %v", took, want)
	}
	for range 16 {
		f.acquireLease(n, 4)
	}
	for range 40 { // leases of a minute, for longer than those of an hour could last
		f.advance(5 * time.Minute)
		f.acquireLease(n, 4)
	}
	f.loseLeases(store)
	if took := f.waitQuarantine(n); took != 2*time.Minute {
		f.Errorf("when the long leases are over, the quarantine lasts %v, want 2m", took)
	}
	f.acquireLease(n, 4)
	emptied := &switchStore{}
	emptied.current.Store(&storeBox{store})
	f.acquireLease(f.newNodeOf(emptied, lasting(time.Hour)), 4)
	n = f.newNodeOf(emptied, lasting(time.Minute))
	f.acquireLease(n, 4)
	emptied.current.Store(&storeBox{f.Open(f.T, f.name+"-after")})
	if took := f.waitQuarantine(n); took != 2*time.Hour {
		f.Errorf("of a store that was emptied the server remembers %v, want 2h", took)
	}
}

// testLossRandom acquires and releases through servers that disagree on how long
// leases last, and loses all of them now and then.
func testLossRandom(f *fixture) {
	r := seed.Rand(f.T)
	store := failover{f.Open(f.T, f.name), new(atomic.Int64)}
	lengths := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}
	n := f.newNodeOf(store, lasting(lengths[r.IntN(3)]))
	var current []idgen.Lease
	for range 400 {
		switch r.IntN(16) {
		case 0:
			f.loseLeases(store)
		case 1, 2: // another configuration
			n = f.newNodeOf(store, lasting(lengths[r.IntN(3)]))
		case 3, 4:
			f.advance(time.Duration(r.Int64N(int64(20 * time.Minute))))
		case 5, 6:
			if len(current) > 0 {
				i := r.IntN(len(current))
				f.randomRelease(r, n, current[i])
				current = append(current[:i], current[i+1:]...)
			}
		default:
			leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: 1 + r.IntN(20)})
			if quarantine := (*lease.QuarantineError)(nil); errors.As(err, &quarantine) {
				f.now.Store(quarantine.Until.UnixMilli())
				continue
			}
			if errors.Is(err, lease.ErrExhausted) {
				continue
			}
			if err != nil {
				f.Fatal(err)
			}
			f.checkGrant(leases, 1)
			current = append(current, leases...)
		}
	}
}
