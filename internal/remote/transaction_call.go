// SPDX-License-Identifier: Apache-2.0

package remote

import "github.com/kazahana-db/kazahana/kv"

// startCall starts a call. It does not block.
func (t *transaction) startCall(s *session, req Request) (wait func() (Response, error)) {
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
		o := req.Batch.RangeOptions
		if o.Mode == kv.ModeExact && o.Limit > 0 {
			o.Mode = kv.ModeWantAll // the client asks for the rest: no batch takes more memory than the engine's largest
		}
		return answer(ctx, reader.GetRange(req.Batch.SelectorRange, o).First(), func(b kv.Batch) Response { return Response{Batch: b} })
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
		return t.watch(ctx, req)
	case commit:
		return t.startCommit(s)
	case onError:
		failed := t.failed
		if t.forgetWrites(s); !s.writes { // a commit that follows at once could commit what OnError has not dropped yet
			t.failed = failed
		}
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

// startCommit starts the commit, of which the answer tells the version.
func (t *transaction) startCommit(s *session) (wait func() (Response, error)) {
	if failed := t.failed; failed != nil {
		return func() (Response, error) { return Response{}, failed }
	}
	done := t.tx.CommitAsync()
	return func() (resp Response, err error) {
		if err = kv.AwaitCommit(s.ctx, done); err == nil {
			t.noteCommit()
			resp.Integer, err = t.tx.GetCommittedVersion()
		}
		return resp, err
	}
}

// doNow does a call that needs no waiting.
func (t *transaction) doNow(s *session, req Request) (resp Response, err error) {
	if (req.Verb.changes() || req.Verb == addReadConflictRange) && !t.note(s, &req) {
		return resp, nil // the commit has the error
	}
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
		t.cancelWatch(uint64(req.Integer))
	case setReadVersion:
		t.tx.SetReadVersion(req.Integer)
	case setOption:
		err = t.tx.SetOption(req.Option, req.Integer)
	case setOptions:
		err = t.tx.SetOptions(req.Options)
	case getCommittedVersion:
		resp.Integer, err = t.tx.GetCommittedVersion()
	case reset:
		t.forgetWrites(s)
		t.tx.Reset()
	case cancel:
		t.tx.Cancel()
	case end:
		t.forgetWrites(s)
		t.close()
		delete(s.transactions, req.Tx)
	default:
		err = errVerb
	}
	return resp, err
}
