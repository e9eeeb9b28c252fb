// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// transaction is one of a client's. Its calls are started by one goroutine.
type transaction struct {
	tx      kv.Transaction
	watches map[uint64]kv.Future[struct{}] // that may not have fired, by the number of the call; under mu
	written int                            // bytes
	failed  error                          // of the commit, whatever the engine says; nil if there is none

	mu        sync.Mutex
	waiting   int         // calls without an answer, but for those that outlast the commit
	idle      *time.Timer // expires the transaction
	expired   bool        // it was idle for so long that its reads would fail, and was reset
	committed bool        // nothing is left of it but its watches
	ended     bool
}

func newTransaction(tx kv.Transaction) *transaction {
	t := &transaction{tx: tx, watches: map[uint64]kv.Future[struct{}]{}}
	t.idle = time.AfterFunc(kv.MaxTransactionAge, t.expire)
	return t
}

// expire resets a transaction that its client does not go on with: its memory is free then, and its watches fail.
func (t *transaction) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return
	case t.waiting > 0:
		t.idle.Reset(kv.MaxTransactionAge)
		return
	}
	t.expired = true
	if !t.committed {
		t.tx.Reset()
	}
	t.tx.Release()
}

func (t *transaction) noteCommit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed = true
}

// begin notes that a call begins, and reports whether the transaction has expired.
func (t *transaction) begin(v verb) (expired bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle.Reset(kv.MaxTransactionAge)
	if !v.outlasts() {
		t.waiting++
	}
	return t.expired
}

func (t *transaction) done(v verb) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !v.outlasts() {
		t.waiting--
	}
}

// revive makes a transaction that has expired as new.
func (t *transaction) revive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expired, t.committed = false, false
	t.tx.Reset()
}

// start starts a call, and returns what waits for its answer.
func (t *transaction) start(s *session, req Request) (wait func() (Response, error)) {
	v := req.Verb
	result := t.startUnlessExpired(s, req, t.begin(v))
	return func() (Response, error) {
		defer t.done(v)
		return result()
	}
}

func (t *transaction) startUnlessExpired(s *session, req Request, expired bool) (wait func() (Response, error)) {
	var err error
	switch {
	case !expired:
		return t.startCall(s, req)
	case req.Verb == reset, req.Verb == onError && kv.IsRetryable(req.Failure.err()):
		t.forgetWrites(s)
		t.revive()
	case req.Verb == cancel, req.Verb == end:
		_, err = t.doNow(s, req)
	case req.Verb == onError:
		err = req.Failure.err()
	default:
		err = errExpired
	}
	return func() (Response, error) { return Response{}, err }
}

var errExpired = kv.NewError(kv.CodeTransactionTooOld, "nothing was asked of the transaction for %v", kv.MaxTransactionAge)

// note notes what a call adds to the transaction, and why it cannot commit then. It reports whether there is room for
// it.
func (t *transaction) note(s *session, req *Request) bool {
	n := req.size()
	switch {
	case !s.take(n):
		t.failed = kv.NewError(kv.CodeTransactionTooLarge, "the transactions of the connection hold more than %d bytes of writes and conflict ranges together", maxWritten)
		return false
	case !s.writes && t.failed == nil && req.Verb.changes():
		t.failed = ErrReadOnly
	}
	t.written += n
	return true
}

// ErrReadOnly is the error of a commit that writes, of a database that is served for reading only.
var ErrReadOnly = kv.NewError(kv.CodeTransactionReadOnly, "the program serves its database for reading only")

// forgetWrites lets go of what the transaction writes: it has ended, or begins anew.
func (t *transaction) forgetWrites(s *session) {
	s.give(t.written)
	t.written, t.failed = 0, nil
}

// watch sets a watch, and returns what waits for it.
func (t *transaction) watch(ctx context.Context, req Request) (wait func() (Response, error)) {
	number, w := req.Call, t.tx.Watch(req.Key)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watches[number] = w
	fired := none(ctx, w)
	return func() (Response, error) {
		defer t.forgetWatch(number)
		return fired()
	}
}

func (t *transaction) forgetWatch(number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watches, number)
}

func (t *transaction) cancelWatch(number uint64) {
	t.mu.Lock()
	w := t.watches[number]
	t.mu.Unlock()
	w.Cancel()
}

// close ends the transaction and its watches. A commit that is under way goes on.
func (t *transaction) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.idle.Stop()
	t.tx.Cancel()
	t.tx.Release()
	for _, w := range t.watches {
		w.Cancel()
	}
}

var errVerb = errors.New("the call is unknown: client and server are of different versions")
