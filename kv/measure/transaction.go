// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// transaction counts the calls of a transaction.
type transaction struct {
	reads
	inner kv.Transaction
}

// newTransaction returns tx counted in a meter.
func newTransaction(m *Meter, tx kv.Transaction) *transaction {
	m.add(func(u *Usage) { u.Begins++ })
	return &transaction{reads{&rounds{meter: m}, tx}, tx}
}

// write counts a write of so many bytes.
func (t *transaction) write(size int) kv.Transaction {
	t.add(func(u *Usage) {
		u.Writes++
		u.BytesWritten += size
	})
	return t.inner
}

// Set implements [kv.Transaction].
func (t *transaction) Set(key, value []byte) { t.write(len(key)+len(value)).Set(key, value) }

// Clear implements [kv.Transaction].
func (t *transaction) Clear(key []byte) { t.write(len(key)).Clear(key) }

// ClearRange implements [kv.Transaction].
func (t *transaction) ClearRange(r kv.KeyRange) { t.write(len(r.Begin) + len(r.End)).ClearRange(r) }

// Atomic implements [kv.Transaction].
func (t *transaction) Atomic(op kv.MutationType, key, operand []byte) {
	t.write(len(key)+len(operand)).Atomic(op, key, operand)
}

// AddReadConflictRange implements [kv.Transaction].
func (t *transaction) AddReadConflictRange(r kv.KeyRange) error {
	return t.inner.AddReadConflictRange(r)
}

// AddReadConflictKey implements [kv.Transaction].
func (t *transaction) AddReadConflictKey(key []byte) error { return t.inner.AddReadConflictKey(key) }

// AddWriteConflictRange implements [kv.Transaction].
func (t *transaction) AddWriteConflictRange(r kv.KeyRange) error {
	return t.inner.AddWriteConflictRange(r)
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *transaction) AddWriteConflictKey(key []byte) error { return t.inner.AddWriteConflictKey(key) }

// Watch implements [kv.Transaction].
func (t *transaction) Watch(key []byte) kv.Future[struct{}] {
	t.add(func(u *Usage) { u.Watches++ })
	return t.inner.Watch(key)
}

// SetReadVersion implements [kv.Transaction].
func (t *transaction) SetReadVersion(version int64) { t.inner.SetReadVersion(version) }

// SetOption implements [kv.Transaction].
func (t *transaction) SetOption(o kv.Option, arg int64) error { return t.inner.SetOption(o, arg) }

// GetApproximateSize implements [kv.Transaction].
func (t *transaction) GetApproximateSize() kv.Future[int64] { return t.inner.GetApproximateSize() }

// GetCommittedVersion implements [kv.Transaction].
func (t *transaction) GetCommittedVersion() (int64, error) { return t.inner.GetCommittedVersion() }

// GetVersionstamp implements [kv.Transaction].
func (t *transaction) GetVersionstamp() kv.Future[[]byte] { return t.inner.GetVersionstamp() }

// Commit implements [kv.Transaction].
func (t *transaction) Commit(ctx context.Context) error {
	t.add(func(u *Usage) { u.Commits++ })
	return t.inner.Commit(ctx)
}

// CommitAsync implements [kv.Transaction].
func (t *transaction) CommitAsync() kv.Future[struct{}] {
	t.add(func(u *Usage) { u.Commits++ })
	return t.inner.CommitAsync()
}

// OnError implements [kv.Transaction].
func (t *transaction) OnError(ctx context.Context, err error) error {
	if err := t.inner.OnError(ctx, err); err != nil {
		return err
	}
	t.rounds.close()
	t.add(func(u *Usage) { u.Retries++ })
	return nil
}

// Reset implements [kv.Transaction].
func (t *transaction) Reset() {
	t.rounds.close()
	t.inner.Reset()
}

// Cancel implements [kv.Transaction].
func (t *transaction) Cancel() { t.inner.Cancel() }

// Release implements [kv.Releaser].
func (t *transaction) Release() { kv.Release(t.inner) }

// Transact implements [kv.Transactor].
func (t *transaction) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *transaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// ConflictRanges implements [kv.ConflictRanger] where the engine does.
func (t *transaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	ranger, err := kv.ConflictRangerOf(t.inner)
	if err != nil {
		return nil, nil, err
	}
	return ranger.ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger] where the engine does.
func (t *transaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranger, err := kv.ConflictRangerOf(t.inner)
	if err != nil {
		return nil, err
	}
	return ranger.ConflictingKeys(ctx)
}
