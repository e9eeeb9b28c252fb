// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"net/rpc"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// remoteTx is a transaction of a [Database].
type remoteTx struct {
	view
	client *rpc.Client
	id     uint64

	mu       sync.Mutex
	next     uint64 // the number of the next call
	watches  int    // that the server has
	finished bool
	ended    bool // the server lets go of it
}

// markFinished says that only watches are left of the transaction. The server lets go of it
// after the last of them.
func (t *remoteTx) markFinished() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = true
	t.endLocked()
}

func (t *remoteTx) endLocked() {
	if t.finished && t.watches == 0 && !t.ended {
		t.sendLocked(Request{Verb: end})
		t.ended = true
	}
}

// pendingCall is a call under way.
type pendingCall struct {
	call   *rpc.Call
	resp   *Response
	number uint64
}

// sendCall sends a call.
func (t *remoteTx) sendCall(req Request) pendingCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sendLocked(req)
}

// sendLocked sends a call. After the end it fails at once: the server would take it for the
// first call of another transaction, and wait for those before it.
func (t *remoteTx) sendLocked(req Request) pendingCall {
	if t.ended {
		call := &rpc.Call{Error: rpc.ErrShutdown, Done: make(chan *rpc.Call, 1)}
		call.Done <- call
		return pendingCall{call, new(Response), t.next}
	}
	req.Tx, req.Number = t.id, t.next
	t.next++
	resp := new(Response)
	return pendingCall{t.client.Go(service+".Do", req, resp, make(chan *rpc.Call, 1)), resp, req.Number}
}

// wait waits for the answer.
func (s pendingCall) wait() (Response, error) {
	if err := (<-s.call.Done).Error; err != nil {
		return Response{}, fmt.Errorf("%w: %w", kv.ErrClosed, err)
	}
	return *s.resp, s.resp.Failure.err()
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
	sent pendingCall
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

// GetCommittedVersion implements [kv.Transaction].
func (t *remoteTx) GetCommittedVersion() (int64, error) {
	resp, err := t.sendCall(Request{Verb: getCommittedVersion}).wait()
	return resp.Integer, err
}

// GetVersionstamp implements [kv.Transaction].
func (t *remoteTx) GetVersionstamp() kv.Future[[]byte] {
	return call(t.view, Request{Verb: getVersionstamp}, value)
}

// Commit implements [kv.Transaction].
func (t *remoteTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction].
func (t *remoteTx) CommitAsync() kv.Future[struct{}] {
	return call(t.view, Request{Verb: commit}, func(Response) struct{} { return struct{}{} })
}

// OnError implements [kv.Transaction].
func (t *remoteTx) OnError(ctx context.Context, err error) error {
	if kv.CodeOf(err) == 0 {
		return err
	}
	_, err = call(t.view, Request{Verb: onError, Failure: failureOf(err)}, func(Response) struct{} { return struct{}{} }).Get(ctx)
	return err
}

// Reset implements [kv.Transaction].
func (t *remoteTx) Reset() { t.sendCall(Request{Verb: reset}) }

// Cancel implements [kv.Transaction].
func (t *remoteTx) Cancel() { t.sendCall(Request{Verb: cancel}) }

// Release implements [kv.Transaction]. The server lets go of a transaction when it ends.
func (t *remoteTx) Release() {}

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
