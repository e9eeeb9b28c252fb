// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
)

// Fence is a condition that a transaction checks before it commits: that
// something still has the owner that it had when the Fence was made. The check
// reads one key, which is written only when the ownership changes, so that the
// engine itself finds out about a change between the read and the commit, and
// refuses the commit with a conflict. No clock is asked.
//
// The zero Fence is always in force and reads nothing. That of the zero [Grant] is never
// in force. A Fence is immutable and safe for concurrent use.
type Fence struct {
	key  []byte
	owns func(found []byte) error // checks the key's value, nil if absent
}

// NewFence returns a fence of a key that another package writes. It writes the
// key whenever the ownership changes, and as seldom as possible otherwise,
// since every write of the key conflicts with the transactions that check the
// fence. owns gets the value of the key, nil if it is absent, and returns nil
// if the ownership has not changed, else an error that is an [ErrLeaseLost] and
// not retryable, best a *[LostError]. Several goroutines may call it. Without a
// key the check reads nothing and passes nil to owns; without owns the fence is
// never in force.
func NewFence(key []byte, owns func(found []byte) error) Fence {
	if owns == nil {
		owns = func([]byte) error { return errNoOwns }
	}
	return Fence{key: bytes.Clone(key), owns: owns}
}

var errNoOwns = errors.New("leasefdb: the fence has no function that checks the value of its key")

// WhenLost returns the fence with a function that is called with the error of each check which
// finds that the ownership has changed, before the check returns it: so that the owner learns of
// it even if the error goes no further. Several goroutines may call it; it must not block.
func (f Fence) WhenLost(tell func(error)) Fence {
	if f.IsZero() {
		return f
	}
	owns := f.owns
	f.owns = func(found []byte) error {
		err := owns(found)
		if err != nil {
			tell(err)
		}
		return err
	}
	return f
}

// IsZero reports whether the fence is the zero Fence.
func (f Fence) IsZero() bool { return f.owns == nil }

// Key returns a copy of the key that [Fence.Check] reads; nil if it reads none.
func (f Fence) Key() []byte { return bytes.Clone(f.key) }

// Check reads the key of the fence in tx, serializably, and returns an error,
// an [ErrLeaseLost], if it tells that the ownership has changed. If it changes
// before tx commits, the commit fails with a conflict; its retry then gets that
// error from Check. One round of reads.
func (f Fence) Check(ctx context.Context, tx kv.Transaction) error { return f.StartCheck(tx).Wait(ctx) }

// StartCheck begins [Fence.Check], so that other reads share its round.
func (f Fence) StartCheck(tx kv.Transaction) FenceCheck {
	if f.IsZero() {
		return FenceCheck{}
	}
	if f.key == nil {
		return FenceCheck{f, kv.Resolved[[]byte](nil, nil)}
	}
	return FenceCheck{f, tx.Get(f.key)}
}

// Under returns db as its owner may write to it: each of its transactions,
// whether Transact runs it or Begin returns it, commits only while the fence
// holds. Otherwise it does not commit, and the error is an [ErrLeaseLost],
// which no retry loop repeats. The error is about the last attempt: an earlier
// one whose outcome is unknown (see [kv.IsMaybeCommitted]) may have committed
// while the fence held. The check is part of each attempt; it costs one read,
// in a round with the first read of the function, if that reads. ReadTransact
// is not fenced. Closing the result closes db.
func (f Fence) Under(db kv.Database) kv.Database {
	if f.IsZero() {
		return db
	}
	return fencedDatabase{db, f}
}
