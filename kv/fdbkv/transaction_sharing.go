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
	mu     sync.Mutex // held while shared is joined, and while own waits
	shared atomic.Pointer[attempt]
	reads  []sharedRead // those made in the group
}

// sharedRead is a read that was made in a group, as a snapshot read.
type sharedRead struct {
	call     func(h handle, snapshot bool) *cFuture
	snapshot bool // it was asked for so
}

// forReading returns the attempt in which to read.
func (t *transaction) forReading() (*attempt, error) {
	if err := t.ended(); err != nil {
		return nil, err
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	if a := t.shared.Load(); a != nil {
		return a, nil
	}
	return t.join()
}

// join has the transaction read in the group that gathers.
func (t *transaction) join() (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*attempt{t.current.Load(), t.shared.Load()} {
		if a != nil {
			return a, nil
		}
	}
	g, err := t.db.groups.join(t.db)
	if err != nil {
		return nil, err
	}
	a := newAttempt(g.handle, g.tr, g)
	t.db.adopt(a)
	t.shared.Store(a)
	if t.over.Load() {
		a.leave()
	}
	return a, nil
}

// own returns the attempt that the transaction has for itself, which may have
// to be made first. Then own waits for the read version of the group. The end of
// the retry loop's context and Close end that.
func (t *transaction) own() (*attempt, error) {
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	tr, err := t.db.create()
	if err != nil {
		return nil, err
	}
	if shared := t.shared.Load(); shared != nil {
		if err := shared.repeat(tr, t.reads); err != nil {
			return nil, err
		}
	}
	return t.become(tr), nil
}

// become makes a transaction of the client the transaction's own.
func (t *transaction) become(tr fdb.Transaction) *attempt {
	t.tr, t.reads = tr, nil
	t.renew(handleOf(tr))
	return t.current.Load()
}

// alone is own for what forgets or ends everything read so far: reads of the
// group are given up, and its version is not waited for.
func (t *transaction) alone() (*attempt, error) {
	if shared := t.shared.Load(); shared != nil {
		shared.leave()
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	tr, err := t.db.create()
	if err != nil {
		return nil, err
	}
	return t.become(tr), nil
}

// refused reports whether a read ended with an error that it has had before, since
// it cannot be made. It adds no conflict then.
func refused(err error) bool {
	code := kv.CodeOf(err)
	return code != 0 && !givenUp(code) && !kv.IsRetryable(err)
}

// note has own repeat a read, and returns nil, or what own has returned meanwhile.
func (t *transaction) note(read sharedRead) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a
	}
	t.reads = append(t.reads, read)
	return nil
}
