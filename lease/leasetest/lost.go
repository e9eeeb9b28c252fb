// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// failover is a store that tells when it may have forgotten something.
type failover struct {
	lease.Store
	life *atomic.Int64
}

func (s failover) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(failoverTx{tx, s.life.Load()}) })
}

type failoverTx struct {
	lease.Tx
	life int64
}

func (t failoverTx) Incarnation() string { return fmt.Sprint("life ", t.life) }

// lose forgets all leases of the default service, and tells so. What is left is
// what seldom changes: the service's record.
func (f *fixture) lose(store failover) {
	f.Helper()
	for _, pair := range scan(f, store.Store, lease.DefaultService, []byte{0}, []byte{0xff}, 1000) {
		if pair.Key[0] != 's' {
			f.put(store.Store, pair.Key, nil)
		}
	}
	store.life.Add(1)
}

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
	f.acquire(f.nodeOf(store, lasting(time.Hour)), 1)
	n := f.nodeOf(store, lasting(time.Minute))
	f.acquire(n, 1)
	f.lose(store)
	if took, want := f.sitOut(n), 2*time.Hour; took != want { // an hour, one less a minute for the continuation, a minute of skew
		f.Errorf("the quarantine lasts %v, want %v", took, want)
	}
	for range 16 {
		f.acquire(n, 4)
	}
	for range 40 { // leases of a minute, for longer than those of an hour could last
		f.advance(5 * time.Minute)
		f.acquire(n, 4)
	}
	f.lose(store)
	if took := f.sitOut(n); took != 2*time.Minute {
		f.Errorf("when the long leases are over, the quarantine lasts %v, want 2m", took)
	}
	f.acquire(n, 4)
	emptied := &switched{}
	emptied.current.Store(&opened{store})
	f.acquire(f.nodeOf(emptied, lasting(time.Hour)), 4)
	n = f.nodeOf(emptied, lasting(time.Minute))
	f.acquire(n, 4)
	emptied.current.Store(&opened{f.Open(f.T, f.name+"-after")})
	if took := f.sitOut(n); took != 2*time.Hour {
		f.Errorf("of a store that was emptied the server remembers %v, want 2h", took)
	}
}

// sitOut waits for the end of the quarantine, and returns how long that was.
func (f *fixture) sitOut(n *node) time.Duration {
	f.Helper()
	took := time.Duration(f.quarantined(n).UnixMilli()-f.now.Load()) * time.Millisecond
	f.advance(took)
	return took
}

// testLossRandom acquires and releases through servers that disagree on how long
// leases last, and loses all of them now and then.
func testLossRandom(f *fixture) {
	r := f.random()
	store := failover{f.Open(f.T, f.name), new(atomic.Int64)}
	lengths := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}
	n := f.nodeOf(store, lasting(lengths[r.IntN(3)]))
	var current []idgen.Lease
	for range 400 {
		switch r.IntN(16) {
		case 0:
			f.lose(store)
		case 1, 2: // somebody changes the configuration
			n = f.nodeOf(store, lasting(lengths[r.IntN(3)]))
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
			f.granted(leases, 1)
			current = append(current, leases...)
		}
	}
}
