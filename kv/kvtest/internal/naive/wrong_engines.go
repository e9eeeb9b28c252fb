// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// wrongDB hands out transactions with a fault.
type wrongDB struct {
	kv.Database
	spoil func(kv.Transaction) kv.Transaction
}

func (w wrongDB) Begin() (kv.Transaction, error) {
	tx, err := w.Database.Begin()
	if err != nil {
		return nil, err
	}
	return w.spoil(tx), nil
}

func (w wrongDB) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := w.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (w wrongDB) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := w.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// The faults. Each embeds a right transaction.
type (
	noReadConflict struct{ kv.Transaction } // reads add no conflict range
	noPhantom      struct{ kv.Transaction } // ranges add conflicts for found keys only
	lossyRange     struct{ kv.Transaction } // a range read ends with its first batch
	absentIsEmpty  struct{ kv.Transaction }
	keepsArguments struct { // writes what the caller's slices hold at commit
		kv.Transaction
		kept *[][2][]byte
	}
	addReads          struct{ kv.Transaction } // additions conflict
	deafWatch         struct{ kv.Transaction }
	eagerRetry        struct{ kv.Transaction } // OnError retries everything
	forgetfulClear    struct{ kv.Transaction }
	sharedSnapshot    struct{ kv.Transaction } // snapshot reads conflict
	denseVersion      struct{ kv.Transaction } // the committed version is the read version
	overeagerConflict struct{ kv.Transaction } // writes are reads as well
)

func (w noReadConflict) Get(key []byte) kv.Future[[]byte] { return w.Snapshot().Get(key) }

func (w noPhantom) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return w.Snapshot().GetRange(r, o).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		batch, err := f.Get(context.Background())
		for _, pair := range batch.KVs {
			_ = w.AddReadConflictKey(pair.Key)
		}
		return kv.Resolved(batch, err)
	})
}

func (w lossyRange) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return w.Transaction.GetRange(r, o).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		batch, err := f.Get(context.Background())
		batch.More = false
		return kv.Resolved(batch, err)
	})
}

func (w absentIsEmpty) Get(key []byte) kv.Future[[]byte] {
	value, err := w.Transaction.Get(key).Get(context.Background())
	return kv.Resolved(append([]byte{}, value...), err)
}

func (w keepsArguments) Set(key, value []byte) { *w.kept = append(*w.kept, [2][]byte{key, value}) }

func (w keepsArguments) Commit(ctx context.Context) error {
	for _, pair := range *w.kept {
		w.Transaction.Set(pair[0], pair[1])
	}
	*w.kept = nil
	return w.Transaction.Commit(ctx)
}

func (w addReads) Atomic(op kv.MutationType, key, operand []byte) {
	_ = w.AddReadConflictKey(key)
	w.Transaction.Atomic(op, key, operand)
}

func (w deafWatch) Watch([]byte) kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

func (w eagerRetry) OnError(context.Context, error) error {
	w.Reset()
	return nil
}

func (w forgetfulClear) ClearRange(r kv.KeyRange) {
	if string(r.Begin) == "" { // the suites' own cleaning must work
		w.Transaction.ClearRange(r)
	}
}

func (w sharedSnapshot) Snapshot() kv.ReadTransaction { return w.Transaction }

func (w denseVersion) GetCommittedVersion() (int64, error) {
	version, err := w.GetReadVersion().Get(context.Background())
	if err != nil {
		return 1, nil
	}
	return version, nil
}

func (w overeagerConflict) Set(key, value []byte) {
	_ = w.AddReadConflictKey(key)
	w.Transaction.Set(key, value)
}

// mergedOperations makes one operation of two equal ones on one key, whether that is
// the same or not.
type mergedOperations struct{ *naiveTx }

func (t mergedOperations) Atomic(op kv.MutationType, key, operand []byte) {
	if n := len(t.writes); n > 0 && t.writes[n-1].op == op && !t.writes[n-1].stamps() && bytes.Equal(t.writes[n-1].keys.Begin, key) {
		both := model.Model{string(key): string(t.writes[n-1].operand)}
		both.Atomic(op, string(key), operand)
		t.writes[n-1].operand = []byte(both[string(key)])
		return
	}
	t.naiveTx.Atomic(op, key, operand)
}
