// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"time"
)

const (
	// firstThroughput is how many IDs of a millisecond a client leases at first.
	firstThroughput = 256

	// growth is by how much it multiplies them when a millisecond was used up.
	growth = 4

	// acquireTimeout is how long one call of the provider may take.
	acquireTimeout = 5 * time.Second

	// idle is when the keeper looks again if it has nothing to do.
	idle = time.Hour

	// keepShare divides the length of a lease: so much of it passes before the lease is
	// replaced, even if it ends earlier by the client's clock. So a client with a wrong
	// clock holds about as many leases, and not all that there are.
	keepShare = 64
)

// keeper is the state of a client's acquisitions. One goroutine calls the
// provider, one call at a time. The client's mu guards all fields below done.
type keeper struct {
	ctx    context.Context // ends with Shutdown
	stop   context.CancelFunc
	calls  context.Context // that of requests, which Shutdown lets end
	giveUp context.CancelFunc
	wake   chan struct{}
	done   chan struct{} // closed when the goroutine has ended
	ending chan struct{} // a lock: holds one value while Shutdown releases leases

	started  bool
	want     int // IDs of a millisecond to lease
	request  *AcquireRequest
	anew     bool          // its answer replaces all leases
	tries    int           // of the request
	failures int           // in sequence
	askedAt  time.Time     // last try
	wasLate  bool          // its answer came too late, and is asked for again at once
	floor    time.Duration // after a try, before the leases that it brought are replaced
	retryAt  time.Time
	growAt   time.Time // more is not asked for before, because it was refused
	lastErr  error
	cancel   context.CancelFunc // of the call under way
	spare    []*heldLease       // to release

	pending   chan struct{} // closed when the first try has ended
	isSettled bool
	doubted   time.Time // when the clock last jumped
	abandoned int       // how often the leases were; a reply to a call from before is not used
}

func (k *keeper) init(o Options) {
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.calls, k.giveUp = context.WithCancel(context.Background())
	k.wake, k.done, k.ending = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
	k.pending, k.isSettled = make(chan struct{}), o.Provider == nil
	k.want = min(firstThroughput, o.MaxThroughputPerMs)
}

// wakeUp wakes the goroutine.
func (k *keeper) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// hasTried reports whether the provider was asked without success since the
// clock jumped, or there is none.
func (k *keeper) hasTried() bool {
	return k.isSettled && k.cancel == nil && (!k.started || k.askedAt.After(k.doubted))
}

// beginEnding takes the lock of Shutdown. It reports false if ctx ended before.
func (k *keeper) beginEnding(ctx context.Context) bool {
	select {
	case k.ending <- struct{}{}:
		return true
	default:
	}
	select {
	case k.ending <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (k *keeper) markSettled() {
	if !k.isSettled {
		k.isSettled = true
		close(k.pending)
	}
}

// restart lets the keeper acquire at once, unless its last try has failed or
// was less than an interval ago.
func (k *keeper) restart(least time.Duration) {
	k.abandoned++
	k.request = nil
	if k.cancel != nil {
		k.cancel()
	}
	if k.failures == 0 {
		k.retryAt = k.askedAt.Add(least)
		k.unsettle()
	}
	k.wakeUp()
}

// unsettle makes callers wait for the next try.
func (k *keeper) unsettle() {
	if k.isSettled {
		k.isSettled, k.pending = false, make(chan struct{})
	}
}
