// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"errors"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// ErrWrapped is returned by Commit, CommitAsync and OnError of a transaction
// that [Wrap] made: commit and retry belong to the code that made it.
var ErrWrapped = errors.New("fdbkv: the transaction was wrapped: the code that made it commits and retries it")

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
	commit := kv.NewFuture[struct{}](newPendingResult(a, keptFuture{c: a.commit(), commit: true}, "commit", takeNothing))
	if t.reports.Load() {
		return t.withConflicts(commit)
	}
	return commit
}

// withConflicts returns a commit whose error tells the conflicting keys. The client
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
	if code == 0 {
		t.Cancel()
		return orInvalid(err)
	}
	_, refused := await(a, a.onError(code), "OnError", takeNothing).Get(ctx)
	switch {
	case refused == nil:
		t.beginAttempt(a.handle)
	case kv.CodeOf(refused) == code:
		return err
	case kv.CodeOf(refused) == 0: // ctx ended, or the database was closed
		t.Cancel()
	}
	return refused
}

// anyCode returns the code of an error of ours or of the binding; 0: it has none.
func anyCode(err error) kv.Code {
	var theirs fdb.Error
	if code := kv.CodeOf(err); code != 0 || !errors.As(err, &theirs) {
		return code
	}
	return kv.Code(theirs.Code)
}

// orInvalid returns the error of OnError for what is no error of the client.
func orInvalid(err error) error {
	if e := (*kv.Error)(nil); err == nil || errors.As(err, &e) && e.Code == 0 {
		return newError(kv.CodeClientInvalidOperation, "OnError of no error")
	}
	return err
}

// Reset implements [kv.Transaction]. A wrapped transaction is cancelled instead:
// what its maker wrote must not vanish from a commit that then succeeds.
func (t *transaction) Reset() {
	a, err := t.detachFromGroup()
	switch {
	case err != nil: // closed: later calls tell
	case t.db == nil:
		a.cancel()
	default:
		a.reset()
		t.beginAttempt(a.handle)
	}
}

// Cancel implements [kv.Transaction].
func (t *transaction) Cancel() {
	if a, err := t.detachFromGroup(); err == nil {
		a.cancel()
	}
}

func optionText(o kv.Option, arg int64) string {
	return fmt.Sprintf("setting transaction option %d (argument %d)", int(o), arg)
}
