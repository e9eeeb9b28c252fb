// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"context"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// startHeld hands the read that was held back, if any, to one of the database's
// goroutines. t.mu is held.
func (t *Transaction) startHeld() {
	if t.heldRead != nil {
		t.engine.Start(t.heldRead)
		t.heldRead = nil
	}
}

// endPending takes a read out of the list of those under way.
func (t *Transaction) endPending(place int) {
	last := len(t.pending) - 1
	t.pending[place] = t.pending[last]
	t.pending[place].moveTo(place)
	t.pending[last] = nil
	t.pending = t.pending[:last]
}

// giveUpReads resolves the futures of all reads under way with err. t.mu is held.
func (t *Transaction) giveUpReads(err error) {
	for _, p := range t.pending {
		p.giveUp(err)
	}
	t.pending, t.heldRead = nil, nil
	t.wakeReadWaiters()
}

// endReads is called when no read is under way any more. It returns what the
// committer must do if a commit has waited for the reads. t.mu is held.
func (t *Transaction) endReads() *txn.Request {
	t.wakeReadWaiters()
	if !t.commitWaits {
		return nil
	}
	t.commitWaits = false
	request, err := t.finishStart()
	switch {
	case err != nil:
		t.attempt.commit.Resolve(struct{}{}, err)
	case request == nil:
		t.finishReadOnly(t.attempt)
	}
	return request
}

// awaitReads waits until no read is under way. t.mu is held, but not meanwhile.
func (t *Transaction) awaitReads(ctx context.Context) error {
	t.startHeld()
	for len(t.pending) > 0 {
		if t.ended == nil {
			t.ended = make(chan struct{})
		}
		ended := t.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transaction) wakeReadWaiters() {
	if t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}
