// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// attempt is what outlives a transaction's reset: the request of its commit, and the
// futures that the commit resolves. The transaction begins a new one after each
// reset, when the first future or the commit needs it. The futures of a nil attempt
// have no waiters.
type attempt struct {
	request txn.Request
	pending pendingCommit
	commit  kv.Promise[struct{}]
	begun   bool        // the commit
	timer   *time.Timer // of the timeout, while the commit is under way; nil: none

	submitted bool        // the commit, to the engine
	finished  atomic.Bool // the engine has told its outcome

	stamp   *kv.Promise[[]byte] // nil unless the versionstamp was asked for
	watches []*ownWatch
	version atomic.Int64 // of the last commit; -1 if there is none
	index   atomic.Int32 // the second part of its versionstamp, plus one; 0 before it

	conflicts atomic.Pointer[[]kv.KeyRange] // why it failed; nil: it was not told
}

// Finish implements [txn.Finisher]: it resolves the futures.
func (a *attempt) Finish(o txn.Outcome) {
	a.finished.Store(true)
	if a.timer != nil {
		a.timer.Stop()
	}
	if o.Conflicts != nil {
		conflicts := o.Conflicts // &o.Conflicts would put o on the heap in every call
		a.conflicts.Store(&conflicts)
	}
	if o.Err != nil {
		a.failFutures(o.Err)
		return
	}
	a.version.Store(o.Version)
	a.index.Store(int32(o.Index) + 1)
	if a.stamp != nil {
		a.stamp.Resolve(mutation.Versionstamp(o.Version, o.Index), nil)
	}
	a.commit.Resolve(struct{}{}, nil)
}

// finishReadOnly resolves the futures of a commit that wrote nothing.
func (a *attempt) finishReadOnly() {
	a.version.Store(-1)
	if a.stamp != nil {
		a.stamp.Resolve(nil, kv.NewError(kv.CodeNoCommitVersion, "the transaction wrote nothing"))
	}
	a.commit.Resolve(struct{}{}, nil)
}

// isUnderWay reports whether the engine makes the commit.
func (a *attempt) isUnderWay() bool { return a != nil && a.submitted && !a.finished.Load() }

var errNotCommitted = kv.NewError(kv.CodeTransactionInvalidVersion, "the transaction did not commit")

// failFutures resolves the futures of a commit that failed.
func (a *attempt) failFutures(err error) {
	if a == nil {
		return
	}
	a.failWatches(err)
	if a.stamp != nil {
		a.stamp.Resolve(nil, errNotCommitted)
	}
	if a.begun {
		a.commit.Resolve(struct{}{}, err)
	}
}

func (a *attempt) failWatches(err error) {
	if a == nil {
		return
	}
	for _, w := range a.watches {
		if !w.IsArmed() {
			w.Finish(err)
		}
	}
}

// releaseWatches gives back the watches of an attempt that will not commit.
func (a *attempt) releaseWatches() {
	if a == nil {
		return
	}
	for _, w := range a.watches {
		w.Release()
	}
}

// resolveWaiting resolves the futures that the caller waits for. A commit that is
// under way may still happen; watches wait for what becomes of it.
func (a *attempt) resolveWaiting(err error) {
	if a == nil {
		return
	}
	if a.stamp != nil {
		a.stamp.Resolve(nil, err)
	}
	if a.begun {
		a.commit.Resolve(struct{}{}, err)
	}
}

// errDropped is the error of a versionstamp whose transaction was reset before its
// commit was over (FoundationDB's broken_promise).
var errDropped = kv.NewError(1100, "the transaction was reset before its commit")

// giveUp resolves all futures at the transaction's reset: of a commit under way, and
// of watches that are not armed.
func (a *attempt) giveUp() {
	if a == nil {
		return
	}
	a.failWatches(errCancelled)
	if a.stamp != nil {
		a.stamp.Resolve(nil, errDropped)
	}
	a.resolveWaiting(errCancelled)
}

// fireOwn fires the watches on keys of r to which the transaction itself gives
// another value, or one that is not known before the commit. FoundationDB's client
// does so at once, before the commit (ReadYourWrites: triggerWatches).
func (a *attempt) fireOwn(r kv.KeyRange, op operation) {
	if a == nil {
		return
	}
	for _, w := range a.watches {
		within := bytes.Compare(r.Begin, w.Key) <= 0 && bytes.Compare(w.Key, r.End) < 0
		switch {
		case !within:
		case op.op == mutation.OpSet && w.unread:
			set := op // which stays on the stack elsewhere
			w.set = &set
		case op.op != mutation.OpSet || !same(op.value, w.Value):
			w.Finish(nil)
		}
	}
}

// engineWatches returns the watches of an attempt, for the engine to arm.
func (a *attempt) engineWatches() []*watch.Watch {
	if len(a.watches) == 0 {
		return nil
	}
	watches := make([]*watch.Watch, len(a.watches))
	for i, w := range a.watches {
		watches[i] = w.Watch
	}
	return watches
}
