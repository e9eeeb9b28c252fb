// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// startCall starts a call. It does not block; t.mu is held.
func (t *transaction) startCall(s *Session, req Request) (wait func() (Response, error)) {
	var reader kv.ReadTransaction = t.tx
	if req.Snapshot {
		reader = t.tx.Snapshot()
	}
	ctx := s.ctx
	switch req.Verb {
	case get:
		return values(ctx, reader.Get(req.Key))
	case getKey:
		return values(ctx, reader.GetKey(req.Selector))
	case getRange:
		return answer(ctx, reader.GetRange(req.Batch.SelectorRange, req.Batch.RangeOptions).First(), func(b kv.Batch) Response { return Response{Batch: b} })
	case getReadVersion:
		return integers(ctx, reader.GetReadVersion())
	case getEstimatedRangeSize:
		return integers(ctx, reader.GetEstimatedRangeSizeBytes(req.Range))
	case getRangeSplitPoints:
		return answer(ctx, reader.GetRangeSplitPoints(req.Range, req.Integer), func(keys [][]byte) Response { return Response{Keys: keys} })
	case getApproximateSize:
		return integers(ctx, t.tx.GetApproximateSize())
	case getVersionstamp:
		return values(ctx, t.tx.GetVersionstamp())
	case watch:
		w := t.tx.Watch(req.Key)
		t.watches[req.Number] = w
		return none(ctx, w)
	case commit:
		return none(ctx, t.tx.CommitAsync())
	case onError:
		return func() (Response, error) { return Response{}, t.tx.OnError(ctx, req.Failure.err()) }
	case conflictRanges:
		return func() (resp Response, err error) {
			resp.Reads, resp.Writes, err = t.tx.ConflictRanges(ctx)
			return resp, err
		}
	case conflictingKeys:
		return func() (resp Response, err error) {
			resp.Reads, err = t.tx.ConflictingKeys(ctx)
			return resp, err
		}
	}
	resp, err := t.doNow(s, req)
	return func() (Response, error) { return resp, err }
}

// doNow does a call that needs no waiting.
func (t *transaction) doNow(s *Session, req Request) (resp Response, err error) {
	switch req.Verb {
	case set:
		t.tx.Set(req.Key, req.Value)
	case clear:
		t.tx.Clear(req.Key)
	case clearRange:
		t.tx.ClearRange(req.Range)
	case mutate:
		t.tx.Atomic(req.Mutation, req.Key, req.Value)
	case addReadConflictRange:
		err = t.tx.AddReadConflictRange(req.Range)
	case addWriteConflictRange:
		err = t.tx.AddWriteConflictRange(req.Range)
	case cancelWatch:
		t.watches[uint64(req.Integer)].Cancel()
	case setReadVersion:
		t.tx.SetReadVersion(req.Integer)
	case setOption:
		err = t.tx.SetOption(req.Option, req.Integer)
	case setOptions:
		err = t.tx.SetOptions(req.Options)
	case getCommittedVersion:
		resp.Integer, err = t.tx.GetCommittedVersion()
	case reset:
		t.tx.Reset()
	case cancel:
		t.tx.Cancel()
	case end:
		t.tx.Cancel()
		s.forgetTransaction(req.Tx)
	default:
		err = errVerb
	}
	return resp, err
}

// transaction is one of a client's.
type transaction struct {
	tx      kv.Transaction
	mu      sync.Mutex
	turn    sync.Cond
	closed  bool                           // the connection has ended
	next    uint64                         // the number of the call that comes next
	watches map[uint64]kv.Future[struct{}] // by the number of the call
}

// awaitTurn starts the call when it is its turn, and returns what waits for its answer.
func (t *transaction) awaitTurn(s *Session, req Request) (wait func() (Response, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != req.Number && !t.closed {
		t.turn.Wait()
	}
	if t.closed {
		return func() (Response, error) { return Response{}, kv.ErrClosed }
	}
	defer t.turn.Broadcast()
	t.next++
	return t.startCall(s, req)
}

func (t *transaction) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.turn.Broadcast()
	t.tx.Cancel()
	t.tx.Release()
	for _, w := range t.watches {
		w.Cancel()
	}
}
