// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// DefaultDuration is how long a lease lasts without renewal unless
// [Claim.Duration] says otherwise.
const DefaultDuration = 15 * time.Second

// Claim asks for a lease. The zero value is ready to use.
type Claim struct {
	// Holder names the holder of the lease to people and tools. The default
	// value names the host and the process.
	Holder string
	// Duration is how long the lease lasts without renewal, at least a
	// millisecond: how long others must wait after the holder has died. It is
	// renewed about three times as often. The default value is DefaultDuration.
	Duration time.Duration
	// RequestID makes the claim idempotent: a claim that finds its own request
	// granted gets that grant again, even where the reply to it was lost. Claims
	// with the same RequestID are the same claim, so make it anew for each. In a
	// transaction of the caller's it must be set, before the first attempt. The
	// default value is random.
	RequestID string
	// Seen allows to take over the lease that was observed, if it has lapsed
	// and has not been renewed since. The default value takes nothing over.
	Seen Observation
}

// Validate reports all faults of the claim, joined.
func (c Claim) Validate() error {
	c = c.withDefaults()
	faults := []error{checkText("holder", c.Holder), checkText("request id", c.RequestID)}
	if c.Duration < time.Millisecond {
		faults = append(faults, fmt.Errorf("leasefdb: a lease of %v is too short; at least a millisecond is possible", c.Duration))
	}
	return errors.Join(faults...)
}

func (c Claim) withDefaults() Claim {
	if c.Holder == "" {
		c.Holder = defaultHolder
	}
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	if c.RequestID == "" {
		c.RequestID = newRequestID()
	}
	return c
}

var defaultHolder = func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}()

// Grant is the right to a name under an epoch. It is a value: nothing renews
// it; [Names.Keep] makes a [Lease] of it, which does.
type Grant struct {
	Name     string
	Holder   string
	Epoch    int64 // greater than those of all earlier grants of the name
	Duration time.Duration

	began time.Time // before the claim, or the renewal, was sent
	keys  keys
	value []byte // of the fence key while the grant is in force
}

// Deadline returns the end of the grant if it is not renewed: before it no
// other claim can have got the name. It is counted from before the claim was
// sent.
func (g Grant) Deadline() time.Time { return g.began.Add(g.Duration) }

// Fence returns the condition that the grant is in force: it was neither
// released nor taken over. That of the zero Grant never holds: a leader without
// its grant must not write like a caller that needs none.
func (g Grant) Fence() Fence {
	if g.keys.fence == nil {
		return Fence{owns: func([]byte) error { return errNoGrant }}
	}
	return Fence{key: g.keys.fence, owns: func(found []byte) error {
		if bytes.Equal(found, g.value) {
			return nil
		}
		now, err := decodeState(g.Name, g.keys.fence, found, nil)
		if err != nil {
			return err
		}
		return lostTo(g, now)
	}}
}

// Check makes tx commit only if the grant is still in force at its commit: it
// reads the fence key, and returns a *[LostError] if that says otherwise. So if
// two processes believe to hold the name, only the later one can write. It
// needs no clock and no renewal. One round of reads; [Fence.StartCheck] shares
// it.
func (g Grant) Check(ctx context.Context, tx kv.Transaction) error {
	if g.keys.fence == nil {
		return errNoGrant
	}
	return g.Fence().Check(ctx, tx)
}

var errNoGrant = errors.New("leasefdb: the zero Grant holds nothing: use the one that Claim returned")

// Renew tells observers that the holder is alive, or returns a *[LostError] if
// the grant is no longer in force. It never conflicts with transactions that
// Check the grant, nor with another renewal. The result has the new deadline.
func (g Grant) Renew(ctx context.Context, t kv.Transactor) (Grant, error) {
	if g.keys.fence == nil {
		return g, errNoGrant
	}
	began := time.Now()
	err := t.Transact(ctx, func(tx kv.Transaction) error {
		if err := g.Check(ctx, tx); err != nil {
			return err
		}
		g.keys.countChange(tx)
		return nil
	})
	if err == nil {
		g.began = began
	}
	return g, err
}

// Release gives the name back, so that the next claim gets it at once. The
// epoch stays. If the grant is not in force any more, nothing happens: so
// Release can be repeated, and cannot take the name from another.
func (g Grant) Release(ctx context.Context, t kv.Transactor) error {
	if g.keys.fence == nil {
		return errNoGrant
	}
	return t.Transact(ctx, func(tx kv.Transaction) error {
		found, err := tx.Get(g.keys.fence).Get(ctx)
		if err != nil || !bytes.Equal(found, g.value) {
			return err
		}
		g.keys.freeName(tx, g.Epoch)
		return nil
	})
}

// Watch checks the grant in tx and returns a watch that becomes ready when the grant
// is not in force any more. Renewals do not make it ready. It is armed by the
// commit of tx: see [kv.Transaction.Watch].
func (g Grant) Watch(ctx context.Context, tx kv.Transaction) (w kv.Future[struct{}], err error) {
	if g.keys.fence == nil {
		return w, errNoGrant
	}
	w = tx.Watch(g.keys.fence)
	return w, g.Check(ctx, tx)
}

// Lease is a grant that is being renewed. All methods are safe for concurrent
// use.
type Lease struct {
	names  *Names
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when the renewing goroutine has ended
	lapse  *time.Timer   // ends ctx at the deadline

	mu    sync.Mutex
	grant Grant
}

// Grant returns the grant with its latest deadline.
func (l *Lease) Grant() Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant
}

// Context returns a context that ends when the lease does. Its cause is then a
// *[LostError], an [ErrLeaseLost], or [ErrReleased]. The lease is lost when
// another has it, and when it could not be renewed until its deadline. That is
// counted from before the claim or the last renewal was sent: on a machine
// with a running clock, the context ends before another can get the name. A machine
// that was suspended notices too late: only [Lease.Check] protects data.
func (l *Lease) Context() context.Context { return l.ctx }

// Fence is [Grant.Fence].
func (l *Lease) Fence() Fence { return l.Grant().Fence() }

// Check is [Grant.Check].
func (l *Lease) Check(ctx context.Context, tx kv.Transaction) error { return l.Grant().Check(ctx, tx) }

// Release ends the context with the cause [ErrReleased], waits until nothing
// renews the lease any more, and gives the name back: see [Grant.Release]. If
// that fails, others must wait until the lease has lapsed.
func (l *Lease) Release(ctx context.Context) error {
	l.cancel(ErrReleased)
	<-l.ended
	return l.Grant().Release(ctx, l.names.db)
}

// keepRenewing renews the lease until its context ends, and ends it when it is lost.
func (l *Lease) keepRenewing() {
	defer close(l.ended)
	defer l.lapse.Stop()
	next := time.NewTimer(l.nextPause(3))
	defer next.Stop()
	w := l.watchFence()
	defer func() { w.Cancel() }()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-w.Done():
			if _, failed := w.Get(l.ctx); failed != nil {
				w = neverWatch() // renewals will tell
				continue
			}
			w = l.watchFence()
		case <-next.C:
			next.Reset(l.renewGrant())
		}
	}
}

// nextPause returns how long to wait until the next renewal: about a part of the
// lease.
func (l *Lease) nextPause(parts int64) time.Duration {
	part := int64(l.Grant().Duration) / parts
	return time.Duration(part - rand.Int64N(part/5+1))
}

// renewGrant renews the grant and returns how long to wait until the next time.
func (l *Lease) renewGrant() time.Duration {
	g := l.Grant()
	ctx, cancel := context.WithDeadline(l.ctx, g.Deadline())
	defer cancel()
	g, err := g.Renew(ctx, l.names.db)
	if err != nil {
		l.noteFailure(err)
		return l.nextPause(12)
	}
	l.mu.Lock()
	l.grant = g
	l.mu.Unlock()
	l.lapse.Reset(time.Until(g.Deadline()))
	return l.nextPause(3)
}

// watchFence watches the fence key for another's claim. If it has changed
// already, the lease is lost.
func (l *Lease) watchFence() kv.Future[struct{}] {
	g := l.Grant()
	w, changed, err := watch(l.ctx, l.names.db, g.keys.fence, g.value)
	if changed && err == nil {
		err = l.names.db.Transact(l.ctx, func(tx kv.Transaction) error { return g.Check(l.ctx, tx) })
	}
	if err != nil || changed {
		l.noteFailure(err)
		return neverWatch()
	}
	return w
}

// noteFailure ends the context if it is certain that nothing renews the lease
// any more. Anything else may pass before the deadline.
func (l *Lease) noteFailure(err error) {
	switch {
	case errors.Is(err, ErrLeaseLost):
		l.cancel(err)
	case errors.Is(err, kv.ErrClosed):
		l.cancel(lapseError(l.Grant(), err))
	}
}
