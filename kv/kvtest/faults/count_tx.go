// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// countedTx is a transaction of a [Counter].
type countedTx struct {
	countedView
	inner kv.Transaction
}

func (t *countedTx) write() kv.Transaction {
	t.add(func(n *Counts) { n.Writes++ })
	return t.inner
}

// Set implements [kv.Transaction].
func (t *countedTx) Set(key, value []byte) { t.write().Set(key, value) }

// Clear implements [kv.Transaction].
func (t *countedTx) Clear(key []byte) { t.write().Clear(key) }

// ClearRange implements [kv.Transaction].
func (t *countedTx) ClearRange(r kv.KeyRange) { t.write().ClearRange(r) }

// Atomic implements [kv.Transaction].
func (t *countedTx) Atomic(op kv.MutationType, key, operand []byte) {
	t.write().Atomic(op, key, operand)
}

// AddReadConflictRange implements [kv.Transaction].
func (t *countedTx) AddReadConflictRange(r kv.KeyRange) error { return t.inner.AddReadConflictRange(r) }

// AddReadConflictKey implements [kv.Transaction].
func (t *countedTx) AddReadConflictKey(key []byte) error { return t.inner.AddReadConflictKey(key) }

// AddWriteConflictRange implements [kv.Transaction].
func (t *countedTx) AddWriteConflictRange(r kv.KeyRange) error {
	return t.inner.AddWriteConflictRange(r)
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *countedTx) AddWriteConflictKey(key []byte) error { return t.inner.AddWriteConflictKey(key) }

// Watch implements [kv.Transaction].
func (t *countedTx) Watch(key []byte) kv.Future[struct{}] {
	t.add(func(n *Counts) { n.Watches++ })
	return t.inner.Watch(key)
}

// SetReadVersion implements [kv.Transaction].
func (t *countedTx) SetReadVersion(version int64) { t.inner.SetReadVersion(version) }

// SetOption implements [kv.Transaction].
func (t *countedTx) SetOption(o kv.Option, arg int64) error { return t.inner.SetOption(o, arg) }

// GetApproximateSize implements [kv.Transaction].
func (t *countedTx) GetApproximateSize() kv.Future[int64] { return t.inner.GetApproximateSize() }

// GetCommittedVersion implements [kv.Transaction].
func (t *countedTx) GetCommittedVersion() (int64, error) { return t.inner.GetCommittedVersion() }

// GetVersionstamp implements [kv.Transaction].
func (t *countedTx) GetVersionstamp() kv.Future[[]byte] { return t.inner.GetVersionstamp() }

// Commit implements [kv.Transaction].
func (t *countedTx) Commit(ctx context.Context) error {
	t.add(func(n *Counts) { n.Commits++ })
	return t.inner.Commit(ctx)
}

// CommitAsync implements [kv.Transaction].
func (t *countedTx) CommitAsync() kv.Future[struct{}] {
	t.add(func(n *Counts) { n.Commits++ })
	return t.inner.CommitAsync()
}

// OnError implements [kv.Transaction].
func (t *countedTx) OnError(ctx context.Context, err error) error {
	if err := t.inner.OnError(ctx, err); err != nil {
		return err
	}
	t.rounds.close()
	t.add(func(n *Counts) { n.Retries++ })
	return nil
}

// Reset implements [kv.Transaction].
func (t *countedTx) Reset() {
	t.rounds.close()
	t.inner.Reset()
}

// Cancel implements [kv.Transaction].
func (t *countedTx) Cancel() { t.inner.Cancel() }

// Transact implements [kv.Transactor].
func (t *countedTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *countedTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// ConflictRanges implements [kv.ConflictRanger] where the engine does.
func (t *countedTx) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	ranger, err := rangerOf(t.inner)
	if err != nil {
		return nil, nil, err
	}
	return ranger.ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger] where the engine does.
func (t *countedTx) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranger, err := rangerOf(t.inner)
	if err != nil {
		return nil, err
	}
	return ranger.ConflictingKeys(ctx)
}
