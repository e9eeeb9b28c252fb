// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// ErrWrapped is returned by Commit, CommitAsync and OnError of a transaction
// that [Wrap] made: commit and retry belong to the code that made it.
var ErrWrapped = errors.New("fdbkv: the transaction was wrapped: the code that made it commits and retries it")

// commitCall is the name of a commit in errors.
const commitCall = "commit"

// Commit implements [kv.Transaction].
func (t *transaction) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction].
func (t *transaction) CommitAsync() kv.Future[struct{}] {
	if t.db == nil {
		return kv.Resolved(struct{}{}, ErrWrapped)
	}
	a, err := t.usableAttempt()
	if err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	a.version.set()
	take := t.takeCommit(a, time.Now()) // which is before the client sends it
	commit := kv.NewFuture[struct{}](newPendingResult(a, keptFuture{c: a.commit(), commit: true}, noRead, commitCall, take))
	if t.reports.Load() {
		return t.withConflicts(commit)
	}
	return commit
}

// muchWritten is from how many bytes of writes on a transaction does not wait to be
// released: it is freed when it has committed or is cancelled. Until it is reset, all
// its calls then fail, even those that the client would still answer, such as
// GetApproximateSize.
const muchWritten = 1 << 20

// takeCommit returns how the result of the attempt's commit is taken. The version of a
// commit is asked for then, and only after a success: the client reads it without a lock,
// while its thread may free what it reads from at a retry or reset.
func (t *transaction) takeCommit(a *attempt, sent time.Time) func(*cFuture) (struct{}, cCode) {
	large := a.written.Load() > muchWritten
	return func(f *cFuture) (struct{}, cCode) {
		none, code := takeNothing(f)
		switch kv.Code(code) {
		case 0:
			t.noteCommit(a, sent)
		case kv.CodeNotCommitted:
			a.version.reject()
		}
		if code == 0 && large {
			a.destroy(kv.CodeUsedDuringCommit)
		}
		return none, code
	}
}

// withConflicts returns a commit with an error that tells the conflicting keys. The client
// has to be asked for them when the commit has failed, so a goroutine waits.
func (t *transaction) withConflicts(commit kv.Future[struct{}]) kv.Future[struct{}] {
	e := explainedCommit{kv.NewPromise[struct{}](), commit}
	go func() {
		_, err := commit.Get(context.Background())
		e.Resolve(struct{}{}, t.explainConflict(context.Background(), err))
	}()
	return kv.NewFuture[struct{}](e)
}

type explainedCommit struct {
	*kv.Promise[struct{}]
	commit kv.Future[struct{}]
}

// Cancel implements [kv.PendingResult].
func (e explainedCommit) Cancel() { e.commit.Cancel() }

// OnError implements [kv.Transaction]. The client decides and waits.
func (t *transaction) OnError(ctx context.Context, err error) error {
	if t.db == nil {
		return orInvalid(err)
	}
	if closed := t.endError(); closed != nil {
		return closed
	}
	a, closed := t.detachFromGroup()
	if closed != nil {
		return closed
	}
	code := anyCode(err)
	if code == 0 || errors.Is(err, kv.ErrOutcomeUnknown) && !kv.IsMaybeCommitted(err) { // its code is that of something else
		t.Cancel()
		return orInvalid(err)
	}
	a, closed = t.renewCommitted(a)
	if closed != nil {
		return closed
	}
	t.rejectVersion(code)
	_, refused := await(a, a.onError(code), "OnError", takeNothing).Get(ctx)
	switch {
	case refused == nil:
		_ = t.options.set(a.handle, false)
		next := newAttempt(a.handle, t.versions)
		next.retried = true
		t.beginNext(next)
	case kv.CodeOf(refused) == code:
		return err
	case kv.CodeOf(refused) == 0: // ctx ended, or the database was closed
		t.Cancel()
	}
	return refused
}

// renewCommitted returns an attempt that the client can be asked about: another one, if
// the client's transaction was freed because it has committed.
func (t *transaction) renewCommitted(a *attempt) (*attempt, error) {
	switch end := a.isDestroyed(); end {
	case 0:
		return a, nil
	case kv.CodeUsedDuringCommit:
		h, err := t.db.createHandle(t.scoped)
		if err != nil {
			return nil, err
		}
		return t.beginAttempt(newAttempt(h, t.versions)), nil
	default:
		return nil, newError(end, "OnError")
	}
}

// anyCode returns the code of an error of ours or of the binding; 0: it has none.
func anyCode(err error) kv.Code {
	var theirs fdb.Error
	if code := kv.CodeOf(err); code != 0 || !errors.As(err, &theirs) {
		return code
	}
	return kv.Code(theirs.Code)
}

// orInvalid returns the error of OnError for an error that is not the client's.
func orInvalid(err error) error {
	if e := (*kv.Error)(nil); err == nil || errors.As(err, &e) && e.Code == 0 {
		return newError(kv.CodeClientInvalidOperation, "OnError of no error")
	}
	return err
}

// Reset implements [kv.Transaction]. A wrapped transaction is cancelled instead:
// what its maker wrote must not vanish from a commit that then succeeds.
func (t *transaction) Reset() {
	if t.db == nil {
		t.current.Load().cancel()
		return
	}
	if t.scoped && t.over.Load() {
		return
	}
	t.over.Store(false) // Release has set it
	a, err := t.detachFromGroup()
	if err != nil {
		return // closed: later calls tell
	}
	h := a.handle
	t.db.awaitClient(a)
	if !a.reset() {
		if h, err = t.db.createHandle(t.scoped); err != nil {
			return
		}
	}
	t.beginAttempt(newAttempt(h, t.versions))
}

// Cancel implements [kv.Transaction].
func (t *transaction) Cancel() {
	a, err := t.detachFromGroup()
	if err != nil {
		return
	}
	a.cancel()
	large := t.db != nil && a.written.Load() > muchWritten
	if large {
		t.db.awaitClient(a)
	}
	a.concludeAll(false)
	if large {
		a.destroy(kv.CodeTransactionCancelled)
	}
}

func optionText(o kv.Option, arg int64) string {
	return fmt.Sprintf("setting transaction option %d (argument %d)", int(o), arg)
}

// The client shows a transaction's conflict ranges as keys below these prefixes:
// "1" where one begins, "0" where it ends.
const (
	readRanges  = "\xff\xff/transaction/read_conflict_range/"
	writeRanges = "\xff\xff/transaction/write_conflict_range/"
	conflicting = "\xff\xff/transaction/conflicting_keys/"
)

// allKeysEnd is after all keys that the database holds.
const allKeysEnd = "\xff\xff"

// ConflictRanges implements [kv.Transaction].
func (t *transaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	view := reader{t: t, snapshot: true}
	reads, writes := view.GetRange(below(readRanges), kv.RangeOptions{}), view.GetRange(below(writeRanges), kv.RangeOptions{})
	read, errRead := collectRanges(ctx, readRanges, reads)
	write, errWrite := collectRanges(ctx, writeRanges, writes)
	if err := errors.Join(errRead, errWrite); err != nil {
		return nil, nil, fmt.Errorf("fdbkv: reading the conflict ranges: %w", err)
	}
	return read, write, nil
}

// ConflictingKeys implements [kv.Transaction]. The client remembers them; the
// cluster is not asked.
func (t *transaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	view := reader{t: t, snapshot: true}
	ranges, err := collectRanges(ctx, conflicting, view.GetRange(below(conflicting), kv.RangeOptions{}))
	if err != nil {
		return nil, fmt.Errorf("fdbkv: reading the conflicting keys: %w", err)
	}
	return ranges, nil
}

// explainConflict returns the error of a commit with the conflicting keys. An
// error that hides them does not justify hiding the commit's.
func (t *transaction) explainConflict(ctx context.Context, err error) error {
	if !kv.IsConflict(err) {
		return err
	}
	ranges, unknown := t.ConflictingKeys(ctx)
	if unknown != nil || len(ranges) == 0 {
		return err
	}
	return &clientError{kv.NewConflictError(ranges)}
}

// below is everything that the module of special keys at prefix holds.
func below(prefix string) kv.SelectorRange {
	return kv.KeyRange{Begin: []byte(prefix), End: []byte(prefix + "\xff\xff")}.Selectors()
}

// collectRanges makes ranges of their ends. The client does not show where a
// range ends that ends after all keys.
func collectRanges(ctx context.Context, prefix string, bounds kv.RangeResult) (ranges []kv.KeyRange, err error) {
	for bound, err := range bounds.All(ctx) {
		if err != nil {
			return nil, err
		}
		key := bytes.TrimPrefix(bound.Key, []byte(prefix))
		switch last := len(ranges) - 1; {
		case string(bound.Value) == "1":
			ranges = append(ranges, kv.KeyRange{Begin: key, End: []byte(allKeysEnd)})
		case last >= 0:
			ranges[last].End = key
		}
	}
	return ranges, nil
}
