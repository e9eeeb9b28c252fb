// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"sync"
	"sync/atomic"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

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
	call     func(h handle, snapshot bool) *cFuture
	snapshot bool // it was asked for so
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

// joinGroup has the transaction read in the group that gathers.
func (t *transaction) joinGroup() (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*attempt{t.current.Load(), t.shared.Load()} {
		if a != nil {
			return a, nil
		}
	}
	g, err := t.db.groups.joinGathering(t.db)
	if err != nil {
		return nil, err
	}
	a := newAttempt(g.handle, g.tr, g)
	t.db.trackAttempt(a)
	t.shared.Store(a)
	if t.over.Load() {
		a.giveUpReads()
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
	tr, err := t.db.createTransaction()
	if err != nil {
		return nil, err
	}
	if shared := t.shared.Load(); shared != nil {
		if err := shared.repeatReads(tr, t.reads); err != nil {
			return nil, err
		}
	}
	return t.takeOver(tr), nil
}

// takeOver makes a transaction of the client the transaction's own.
func (t *transaction) takeOver(tr fdb.Transaction) *attempt {
	t.tr, t.reads = tr, nil
	t.beginAttempt(handleOf(tr))
	return t.current.Load()
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
	tr, err := t.db.createTransaction()
	if err != nil {
		return nil, err
	}
	return t.takeOver(tr), nil
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
	t.reads = append(t.reads, read)
	return nil
}
