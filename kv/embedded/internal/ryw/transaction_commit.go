// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
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
	view    View // that the request has read: it stays in memory until the outcome is known
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
	releaseView(&a.view)
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

// errDropped is the error of a versionstamp when its transaction was reset before the
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

// Commit implements [kv.Transaction].
func (t *Transaction) Commit(ctx context.Context) error {
	f, _ := t.submitCommit()
	return kv.AwaitCommit(ctx, f)
}

// CommitAsync implements [kv.Transaction]. A goroutine that waits for the future
// drives the commit, together with others that are queued. If none waits, a timer
// does so soon. The timer drives no commits but this one's, so that later ones can gather.
func (t *Transaction) CommitAsync() kv.Future[struct{}] {
	f, submitted := t.submitCommit()
	if submitted != nil {
		time.AfterFunc(Unattended, func() {
			if !submitted.finished.Load() {
				t.engine.Drive()
			}
		})
	}
	return f
}

// Unattended is how long a commit without a waiting goroutine may be delayed, so that
// it is made together with others. Tests make it longer.
var Unattended = 5 * time.Millisecond

// submitCommit submits the transaction's writes, once its reads have ended. It returns
// the attempt that the engine has got; nil if it has got none, or the last read hands it over.
func (t *Transaction) submitCommit() (f kv.Future[struct{}], submitted *attempt) {
	t.mu.Lock()
	if err := t.startCommit(); err != nil {
		t.mu.Unlock()
		return kv.Resolved(struct{}{}, err), nil
	}
	attempt := t.ensureAttempt()
	attempt.begun = true
	attempt.pending = pendingCommit{&attempt.commit, t.engine}
	if t.commitWaits = len(t.pending) > 0; t.commitWaits {
		t.startHeld()
		t.mu.Unlock()
		return kv.NewFuture[struct{}](&attempt.pending), nil
	}
	request, err := t.finishStart()
	t.mu.Unlock()
	if err != nil {
		attempt.commit.Resolve(struct{}{}, err)
		return kv.Resolved(struct{}{}, err), nil
	}
	if request == nil {
		t.finishReadOnly(attempt)
		return kv.NewFuture[struct{}](&attempt.commit), nil
	}
	t.engine.Commit(request)
	return kv.NewFuture[struct{}](&attempt.pending), attempt
}

// finishReadOnly ends the commit of a transaction that wrote nothing.
func (t *Transaction) finishReadOnly(a *attempt) {
	t.engine.Arm(a.engineWatches())
	a.finishReadOnly()
}

// pendingCommit is a commit that was submitted. A goroutine that waits for it drives
// the engine.
type pendingCommit struct {
	*kv.Promise[struct{}]
	engine Engine
}

// Done implements [kv.PendingResult].
func (p *pendingCommit) Done() <-chan struct{} {
	p.engine.Drive()
	return p.Promise.Done()
}

// awaitCommit waits for a commit that was submitted. The caller holds t.mu, which it releases while it waits.
func (t *Transaction) awaitCommit(ctx context.Context) {
	if !t.started || t.attempt == nil || !t.attempt.begun || t.commitWaits {
		return
	}
	t.engine.Drive()
	done := t.attempt.commit.Done()
	t.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
	t.mu.Lock()
}

// startCommit begins the commit. Reads may still be under way.
func (t *Transaction) startCommit() error {
	if t.started && t.fault == nil {
		return t.failMisuse()
	}
	if err := t.checkUsable(); err != nil {
		if errors.Is(err, kv.ErrClosed) {
			t.attempt.failFutures(err) // there will be no other commit
		}
		return err
	}
	t.started = true
	return nil
}

// finishStart returns what the committer must do; nil if there is nothing. No read
// is under way.
func (t *Transaction) finishStart() (r *txn.Request, err error) {
	defer func() {
		if r == nil {
			t.stopTimer()
			releaseView(&t.view)
		}
	}()
	if t.readErr != nil {
		t.attempt.failWatches(t.readErr)
		return nil, t.readErr
	}
	request := t.fillRequest()
	if len(request.Mutations) == 0 && len(request.Writes) == 0 {
		return nil, nil
	}
	if err := t.checkCommit(request); err != nil {
		t.attempt.failFutures(err)
		return nil, err
	}
	request.ReadVersion = t.fixReadVersion()
	t.attempt.view, t.view = t.view, nil
	if t.attempt.submitted = true; t.deadline != nil {
		t.attempt.timer = t.deadline.timer
	}
	return request, nil
}

// fillRequest returns what a commit has to do.
func (t *Transaction) fillRequest() *txn.Request {
	r := &t.attempt.request
	r.Watches = t.attempt.engineWatches()
	r.Reads, r.Quiet, r.Reports = t.reads, t.hasQuietWrite, t.settings.reportConflicts
	if r.Reports && !t.settings.rywDisabled {
		r.Reads = keys.Merge(t.reads) // a conflict is told of a whole range, as FoundationDB's client sends it
	}
	if len(t.direct.lateReads) > 0 {
		r.Reads = slices.Concat(t.reads, t.direct.lateReads)
	}
	// FoundationDB's client gives a commit that read nothing a read conflict range, of itself, unless it may be made twice.
	r.Undated = len(r.Reads) == 0 && t.settings.causalWriteRisky && !t.settings.idempotent
	if keys, ok := t.writes.distinctMutations(); ok && len(t.direct.sent)+len(t.direct.sentRanges) == 0 {
		r.Mutations, r.Pointwise = keys, true
		return r
	}
	r.Mutations = t.writes.appendMutations(t.direct.sent, []byte{}, nil)
	r.Writes = append(t.writes.conflictRanges(), t.direct.sentRanges...)
	return r
}

func (t *Transaction) checkCommit(r *txn.Request) error {
	if t.settings.readOnly {
		return kv.NewError(kv.CodeTransactionReadOnly, "the transaction may only read")
	}
	if err := t.checkReadVersion(r); err != nil {
		return err
	}
	counted := t.reads
	if !t.settings.rywDisabled {
		counted = keys.Merge(counted)
	}
	r.Bytes = requestSize(r, counted)
	if size := r.Bytes; size > t.settings.sizeLimit {
		return kv.NewError(kv.CodeTransactionTooLarge, "the transaction has %d bytes; at most %d are possible: split it", size, t.settings.sizeLimit)
	}
	return nil
}

// checkReadVersion returns why the read version that the caller chose cannot be
// committed with. As on a cluster it matters to conflict ranges of reads only,
// and one from the future conflicts with nothing yet.
func (t *Transaction) checkReadVersion(r *txn.Request) error {
	if len(r.Reads) == 0 || kv.CodeOf(t.viewErr) == kv.CodeFutureVersion {
		return nil
	}
	return t.viewErr
}

// requestSize returns what counts against the limit of a transaction: of its reads
// those given.
func requestSize(r *txn.Request, reads []kv.KeyRange) (size int64) {
	for i := range r.Mutations {
		key := r.Mutations[i].Key
		size += int64(len(key)+len(r.Mutations[i].Value)) + mutationCost
		switch {
		case !r.Pointwise:
		case i > 0 && keys.IsSuccessor(key, r.Mutations[i-1].Key): // their ranges are one
			size++
		default:
			size += int64(2*len(key)+1) + rangeCost
		}
	}
	for _, ranges := range [][]kv.KeyRange{reads, r.Writes} {
		for i := range ranges {
			size += int64(len(ranges[i].Begin)+len(ranges[i].End)) + rangeCost
		}
	}
	return size
}

// GetApproximateSize implements [kv.Transaction].
func (t *Transaction) GetApproximateSize() kv.Future[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return kv.Resolved(int64(0), t.fault)
	}
	return kv.Resolved(t.size, nil)
}

// GetCommittedVersion implements [kv.Transaction].
func (t *Transaction) GetCommittedVersion() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastCommitted(), nil
}

// lastCommitted returns the version of the last commit; -1 if there is none.
func (t *Transaction) lastCommitted() int64 {
	if t.attempt == nil {
		return t.committed
	}
	return t.attempt.version.Load()
}

// lastConflicts returns the conflicting keys that were told last; nil if none were.
func (t *Transaction) lastConflicts() []kv.KeyRange {
	if t.attempt != nil {
		if told := t.attempt.conflicts.Load(); told != nil {
			return *told
		}
	}
	return t.conflicted
}

// GetVersionstamp implements [kv.Transaction].
func (t *Transaction) GetVersionstamp() kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	a := t.ensureAttempt()
	if a.stamp == nil {
		a.stamp = kv.NewPromise[[]byte]()
	}
	return a.stamp.Future()
}
