// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// remoteTx is a transaction of a [Database].
type remoteTx struct {
	view
	conn    *connection
	numbers *atomic.Uint64 // of the transactions of the database

	mu        sync.Mutex
	id        uint64
	options   kv.TransactionOptions // that Reset keeps
	watches   int                   // that the server has
	released  bool
	ended     bool // the server lets go of it
	committed struct {
		version int64
		known   bool
	}
}

// endLocked has the server let go of a transaction that is released, after the last of its watches.
func (t *remoteTx) endLocked() {
	if t.released && t.watches == 0 && !t.ended {
		t.sendLocked(Request{Verb: end})
		t.ended = true
	}
}

// sendCall sends a call.
func (t *remoteTx) sendCall(req Request) sentCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sendLocked(req)
}

// sendLocked sends a call. After the end it fails at once: the server would take it for the first call of another
// transaction.
func (t *remoteTx) sendLocked(req Request) sentCall {
	if t.ended {
		call := sentCall{response: kv.NewPromise[Response]()}
		call.response.Resolve(Response{}, kv.NewError(kv.CodeTransactionCancelled, "the transaction was released"))
		return call
	}
	req.Tx = t.id
	return t.conn.send(req)
}

// Transact implements [kv.Transactor].
func (t *remoteTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *remoteTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Set implements [kv.Transaction].
func (t *remoteTx) Set(key, value []byte) { t.sendCall(Request{Verb: set, Key: key, Value: value}) }

// Clear implements [kv.Transaction].
func (t *remoteTx) Clear(key []byte) { t.sendCall(Request{Verb: clear, Key: key}) }

// ClearRange implements [kv.Transaction].
func (t *remoteTx) ClearRange(r kv.KeyRange) { t.sendCall(Request{Verb: clearRange, Range: r}) }

// Atomic implements [kv.Transaction].
func (t *remoteTx) Atomic(op kv.MutationType, key, operand []byte) {
	t.sendCall(Request{Verb: mutate, Mutation: op, Key: key, Value: operand})
}

// AddReadConflictRange implements [kv.Transaction].
func (t *remoteTx) AddReadConflictRange(r kv.KeyRange) error {
	_, err := t.sendCall(Request{Verb: addReadConflictRange, Range: r}).wait()
	return err
}

// AddReadConflictKey implements [kv.Transaction].
func (t *remoteTx) AddReadConflictKey(key []byte) error { return t.AddReadConflictRange(only(key)) }

// AddWriteConflictRange implements [kv.Transaction].
func (t *remoteTx) AddWriteConflictRange(r kv.KeyRange) error {
	_, err := t.sendCall(Request{Verb: addWriteConflictRange, Range: r}).wait()
	return err
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *remoteTx) AddWriteConflictKey(key []byte) error { return t.AddWriteConflictRange(only(key)) }

// only returns the range of one key.
func only(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: key, End: append(append([]byte{}, key...), 0)}
}

// Watch implements [kv.Transaction].
func (t *remoteTx) Watch(key []byte) kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watches++
	w := &remoteWatch{Promise: kv.NewPromise[struct{}](), tx: t, sent: t.sendLocked(Request{Verb: watch, Key: key})}
	go w.awaitEnd()
	return kv.NewFuture[struct{}](w)
}

// remoteWatch is a watch that is cancelled in the server, too.
type remoteWatch struct {
	*kv.Promise[struct{}]
	tx   *remoteTx
	sent sentCall
	over bool // in the server
}

// awaitEnd waits until the server knows what becomes of the watch.
func (w *remoteWatch) awaitEnd() {
	_, err := w.sent.wait()
	w.Resolve(struct{}{}, err)
	w.tx.mu.Lock()
	defer w.tx.mu.Unlock()
	w.over = true
	w.tx.watches--
	w.tx.endLocked()
}

// Cancel implements [kv.PendingResult].
func (w *remoteWatch) Cancel() {
	w.Promise.Cancel()
	w.tx.mu.Lock()
	defer w.tx.mu.Unlock()
	if !w.over {
		w.tx.sendLocked(Request{Verb: cancelWatch, Integer: int64(w.sent.number)})
	}
}

// SetReadVersion implements [kv.Transaction].
func (t *remoteTx) SetReadVersion(version int64) {
	t.sendCall(Request{Verb: setReadVersion, Integer: version})
}

// SetOption implements [kv.Transaction].
func (t *remoteTx) SetOption(o kv.Option, arg int64) error {
	_, err := t.sendCall(Request{Verb: setOption, Option: o, Integer: arg}).wait()
	return err
}

// GetApproximateSize implements [kv.Transaction].
func (t *remoteTx) GetApproximateSize() kv.Future[int64] {
	return call(t.view, Request{Verb: getApproximateSize}, integer)
}

// GetCommittedVersion implements [kv.Transaction]. After a commit it asks nothing: the connection may be lost, and
// the transaction released.
func (t *remoteTx) GetCommittedVersion() (int64, error) {
	t.mu.Lock()
	committed := t.committed
	t.mu.Unlock()
	if committed.known {
		return committed.version, nil
	}
	resp, err := t.sendCall(Request{Verb: getCommittedVersion}).wait()
	return resp.Integer, err
}

// GetVersionstamp implements [kv.Transaction].
func (t *remoteTx) GetVersionstamp() kv.Future[[]byte] {
	return call(t.view, Request{Verb: getVersionstamp}, value)
}

// Commit implements [kv.Transaction].
func (t *remoteTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction]. If the connection is lost before the answer, the outcome is unknown.
func (t *remoteTx) CommitAsync() kv.Future[struct{}] {
	promise, sent := kv.NewPromise[struct{}](), t.sendCall(Request{Verb: commit})
	go func() {
		resp, err := sent.wait()
		switch {
		case err == nil:
			t.noteCommit(resp.Integer)
		case sent.sent && kv.CodeOf(err) == kv.CodeConnectionFailed, sent.sent && errors.Is(err, kv.ErrClosed):
			err = fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, err)
		}
		promise.Resolve(struct{}{}, err)
	}()
	return promise.Future()
}

func (t *remoteTx) noteCommit(version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed.version, t.committed.known = version, true
}

// forgetCommit forgets the version of an earlier commit: the transaction begins anew.
func (t *remoteTx) forgetCommit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed.known = false
}

// OnError implements [kv.Transaction].
func (t *remoteTx) OnError(ctx context.Context, err error) error {
	if kv.CodeOf(err) == 0 {
		return err
	}
	t.forgetCommit()
	_, err = call(t.view, Request{Verb: onError, Failure: failureOf(err)}, func(Response) struct{} { return struct{}{} }).Get(ctx)
	return err
}

// Reset implements [kv.Transaction].
func (t *remoteTx) Reset() {
	t.forgetCommit()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = false
	if !t.ended {
		t.sendLocked(Request{Verb: reset})
		return
	}
	t.ended, t.id = false, t.numbers.Add(1)
	if !t.options.IsZero() {
		t.sendLocked(Request{Verb: setOptions, Options: t.options}) // they were valid
	}
}

// Cancel implements [kv.Transaction].
func (t *remoteTx) Cancel() { t.sendCall(Request{Verb: cancel}) }

// Release implements [kv.Transaction].
func (t *remoteTx) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = true
	t.endLocked()
}

// ConflictRanges implements [kv.Transaction].
func (t *remoteTx) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	resp, err := call(t.view, Request{Verb: conflictRanges}, whole).Get(ctx)
	return resp.Reads, resp.Writes, err
}

// ConflictingKeys implements [kv.Transaction].
func (t *remoteTx) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	resp, err := call(t.view, Request{Verb: conflictingKeys}, whole).Get(ctx)
	return resp.Reads, err
}

func whole(r Response) Response { return r }
