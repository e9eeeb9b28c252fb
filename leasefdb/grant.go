// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

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
