// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

func (t *naiveTx) Watch(key []byte) kv.Future[struct{}] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	m, err := t.naiveView.pairs()
	if t.rywOff {
		err = kv.NewError(kv.CodeWatchesDisabled, "")
	}
	if err == nil {
		err = t.touch(single(key))
	}
	if err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	w := &naiveWatch{string(key), seen(m, string(key)), kv.NewPromise[struct{}]()}
	t.watches = append(t.watches, w)
	return w.promise.Future()
}

func (t *naiveTx) GetVersionstamp() kv.Future[[]byte] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if err := t.usable(); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	promise := kv.NewPromise[[]byte]()
	t.stamps = append(t.stamps, promise)
	return promise.Future()
}

func (t *naiveTx) GetApproximateSize() kv.Future[int64] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return kv.Resolved(t.size, nil)
}

func (t *naiveTx) GetCommittedVersion() (int64, error) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return t.committed, nil
}

func (t *naiveTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

func (t *naiveTx) CommitAsync() kv.Future[struct{}] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if err := t.usable(); err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	stamp, err := t.commit()
	t.ended = true
	t.arm(err)
	for _, s := range t.stamps {
		switch {
		case err != nil:
			s.Resolve(nil, kv.NewError(kv.CodeTransactionInvalidVersion, ""))
		case stamp == nil:
			s.Resolve(nil, kv.NewError(kv.CodeNoCommitVersion, ""))
		default:
			s.Resolve(stamp, nil)
		}
	}
	t.stamps = nil
	return kv.Resolved(struct{}{}, err)
}

// commit checks and applies the writes; a read-only commit has no stamp.
func (t *naiveTx) commit() (stamp []byte, err error) {
	t.committed = -1
	switch {
	case t.size > t.limit:
		return nil, kv.NewError(kv.CodeTransactionTooLarge, "")
	case len(t.writes)+len(t.conflicts) == 0:
		return nil, nil
	}
	if lost := t.db.conflicting(merged(t.reads), t.version); t.version != 0 && len(lost) > 0 {
		if !t.reports {
			return nil, kv.NewConflictError(nil)
		}
		t.told = lost
		return nil, kv.NewConflictError(lost)
	}
	stamp = t.db.apply(t.writes, t.conflicts)
	t.committed = t.db.last().number
	return stamp, nil
}

// arm hands the watches to the database, or fails them.
func (t *naiveTx) arm(err error) {
	for _, w := range t.watches {
		if err != nil {
			w.promise.Resolve(struct{}{}, err)
			continue
		}
		t.db.watches[w] = true
	}
	t.watches = nil
	t.db.fire()
}
