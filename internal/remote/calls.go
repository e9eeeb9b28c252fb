// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// start starts a call. It does not block; t.mu is held.
func (t *transaction) start(s *Session, req Request) (wait func() (Response, error)) {
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
		return answer(ctx, batch(reader, req.Batch), func(b kv.Batch) Response { return Response{Batch: b} })
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
	}
	resp, err := t.do(s, req)
	return func() (Response, error) { return resp, err }
}

// do does a call that needs no waiting.
func (t *transaction) do(s *Session, req Request) (resp Response, err error) {
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
	case getCommittedVersion:
		resp.Integer, err = t.tx.GetCommittedVersion()
	case reset:
		t.tx.Reset()
	case cancel:
		t.tx.Cancel()
	case end:
		t.tx.Cancel()
		s.forget(req.Tx)
	default:
		err = errVerb
	}
	return resp, err
}

// batch starts one step of a range read.
func batch(tx kv.ReadTransaction, req kv.BatchRequest) (first kv.Future[kv.Batch]) {
	tx.GetRange(req.SelectorRange, req.RangeOptions).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		first = f
		return f
	})
	return first
}

// answer waits for a future and makes a response of its result.
func answer[T any](ctx context.Context, f kv.Future[T], response func(T) Response) func() (Response, error) {
	return func() (Response, error) {
		result, err := f.Get(ctx)
		if err != nil {
			return Response{}, err
		}
		return response(result), nil
	}
}

func values(ctx context.Context, f kv.Future[[]byte]) func() (Response, error) {
	return answer(ctx, f, func(v []byte) Response { return Response{Value: v, Absent: v == nil} })
}

func integers(ctx context.Context, f kv.Future[int64]) func() (Response, error) {
	return answer(ctx, f, func(n int64) Response { return Response{Integer: n} })
}

func none(ctx context.Context, f kv.Future[struct{}]) func() (Response, error) {
	return answer(ctx, f, func(struct{}) Response { return Response{} })
}
