// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// DefaultDuration is how long a lease lasts without renewal unless
// [Claim.Duration] says otherwise.
const DefaultDuration = 15 * time.Second

// Claim asks for a lease. The zero value is ready to use.
type Claim struct {
	// Holder says to people and tools who holds the lease. The default value
	// names the host and the process.
	Holder string
	// Duration is how long the lease lasts without renewal, at least a
	// millisecond: how long others must wait after the holder has died. It is
	// renewed about three times as often. The default value is DefaultDuration.
	Duration time.Duration
	// RequestID makes the claim idempotent: a claim that finds its own request
	// granted gets that grant again, also where the reply to it was lost. Claims
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

// Deadline returns the end of the grant if it is not renewed: before it nobody
// else can have got the name. It is counted from before the claim was sent.
func (g Grant) Deadline() time.Time { return g.began.Add(g.Duration) }

// Claim claims a name once. If it is another's the error is a *[HeldError]; see
// [Claim.Seen]. Each grant has a greater epoch than all grants before it, also
// after releases; epochs are never used again.
//
// Given a database, the claim is a transaction of its own. Given a transaction,
// it becomes a part of that: the grant is good once it has committed. One round
// of reads, two writes.
func (n *Names) Claim(ctx context.Context, t kv.Transactor, name string, c Claim) (Grant, error) {
	if _, own := t.(kv.Database); !own && c.RequestID == "" {
		return Grant{}, errors.New("leasefdb: a claim in a transaction needs a RequestID, made before its first attempt")
	}
	c = c.withDefaults()
	if err := errors.Join(checkText("name", name), c.Validate()); err != nil {
		return Grant{}, err
	}
	began := time.Now()
	g, err := kv.Transact(ctx, t, func(tx kv.Transaction) (Grant, error) { return n.claim(ctx, tx, name, c) })
	if err != nil {
		return Grant{}, err
	}
	g.began = began
	return g, nil
}

func (n *Names) claim(ctx context.Context, tx kv.Transaction, name string, c Claim) (Grant, error) {
	d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
	if err != nil {
		return Grant{}, err
	}
	k, err := keysOf(d, name)
	if err != nil {
		return Grant{}, err
	}
	state, err := k.read(ctx, tx, name)
	if err != nil {
		return Grant{}, err
	}
	granted := state.Held() && state.Request == c.RequestID && state.Holder == c.Holder
	switch {
	case granted:
	case state.Held() && !c.Seen.allows(state):
		return Grant{}, &HeldError{state, k.fence}
	default:
		state.Epoch++
		state.Holder, state.Request, state.Duration = c.Holder, c.RequestID, c.Duration
		tx.Set(k.fence, state.encode())
	}
	k.renew(tx) // whoever observes it, or another grant, begins anew
	return Grant{Name: name, Holder: state.Holder, Epoch: state.Epoch, Duration: state.Duration, keys: k, value: state.encode()}, nil
}

// renew counts a change: a grant, a renewal, a return. It reads nothing.
func (k keys) renew(tx kv.Transaction) { tx.Atomic(kv.Add, k.renewal, kv.Int64(1)) }

// giveBack frees the name and keeps the epoch. It counts, so that every change of a
// name shows in its renewal key.
func (k keys) giveBack(tx kv.Transaction, epoch int64) {
	tx.Set(k.fence, State{Epoch: epoch}.encode())
	k.renew(tx)
}

// Fence returns the condition that the grant is in force: nobody has released
// it or taken it over. That of the zero Grant never holds: a leader that has not got its
// grant yet must not write as a caller that needs none does.
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
		return taken(g, now)
	}}
}

// Check makes tx commit only if the grant is still in force at its commit: it
// reads the fence key, and returns a *[LostError] if that says otherwise. So of
// two who both believe to hold the name only the later one can write. It needs
// no clock and no renewal. One round of reads; [Fence.StartCheck] shares it.
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
		g.keys.renew(tx)
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
		g.keys.giveBack(tx, g.Epoch)
		return nil
	})
}
