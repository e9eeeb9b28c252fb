// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// membership is the part of a transaction that may read in a group's transaction of
// the client. It joins the group by its first read. It gets a transaction of the
// client for itself by the first call that is not a read: that one reads at the
// group's version, if the transaction has joined it, and has made the same reads.
// So a program sees no difference. The second attempt of a
// retry loop shares nothing.
type membership struct {
	mu     sync.Mutex // held while shared is joined, and while ownAttempt waits
	shared atomic.Pointer[attempt]
	reads  []sharedRead // those made in the group
}

// sharedRead is a read that was made in a group, as a snapshot read.
type sharedRead struct {
	call     func(h *handle, snapshot bool) *cFuture
	snapshot bool // it was asked for so
	alone    bool // all reads before it had been taken
}

// attemptForRead returns the attempt in which to read.
func (t *transaction) attemptForRead() (*attempt, error) {
	if err := t.endError(); err != nil {
		return nil, err
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	if a := t.shared.Load(); a != nil {
		return a, nil
	}
	return t.joinGroup()
}

// joinGroup has the transaction read in the group that gathers; if that is full, in a
// transaction of its own.
func (t *transaction) joinGroup() (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*attempt{t.current.Load(), t.shared.Load()} {
		if a != nil {
			return a, nil
		}
	}
	a, err := t.db.groups.join(t.db)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return t.beginOwnLocked(nil)
	}
	t.db.trackAttempt(a, t.scoped)
	t.shared.Store(a)
	if t.over.Load() {
		t.releaseLocked()
	}
	return a, nil
}

// ownAttempt returns the attempt that the transaction has for itself, which may have
// to be made first. Then ownAttempt waits for the read version of the group. The end of
// the retry loop's context and Close end that.
func (t *transaction) ownAttempt() (*attempt, error) {
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	return t.beginOwnLocked(t.shared.Load())
}

// beginOwnLocked begins the transaction's own attempt, with the reads that were made in
// shared; nil: there are none to repeat. t.mu is held.
func (t *transaction) beginOwnLocked(shared *attempt) (*attempt, error) {
	if t.over.Load() {
		return nil, errEnded
	}
	h, err := t.db.createHandle(t.scoped)
	if err != nil {
		return nil, err
	}
	if shared != nil {
		if err := shared.repeatReads(h, t.reads); err != nil {
			h.destroy(kv.CodeTransactionCancelled)
			return nil, err
		}
	}
	t.reads = nil
	a := t.beginAttempt(h)
	if t.over.Load() {
		t.releaseLocked()
	}
	return a, nil
}

// detachFromGroup returns the transaction's own attempt for a call that forgets or
// ends all reads so far: it gives up the reads in the group, and does not wait for
// the group's version.
func (t *transaction) detachFromGroup() (*attempt, error) {
	if shared := t.shared.Load(); shared != nil {
		shared.giveUpReads()
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	return t.beginOwnLocked(nil)
}

// isRefusal reports whether a read ended with an error that it has had before, since
// it cannot be made. It adds no conflict then.
func isRefusal(err error) bool {
	code := kv.CodeOf(err)
	return code != 0 && !isCancellation(code) && !kv.IsRetryable(err)
}

// recordRead notes a read for ownAttempt to repeat, and returns nil. It returns the
// transaction's own attempt instead if there is one by now.
func (t *transaction) recordRead(read sharedRead) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a
	}
	read.alone = !t.shared.Load().futures.hasOutstanding()
	t.reads = append(t.reads, read)
	return nil
}
