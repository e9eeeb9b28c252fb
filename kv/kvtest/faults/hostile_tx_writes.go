// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

func (t *hostileTx) write() kv.Transaction {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = true
	return t.inner
}

// Set implements [kv.Transaction].
func (t *hostileTx) Set(key, value []byte) { t.write().Set(key, value) }

// Clear implements [kv.Transaction].
func (t *hostileTx) Clear(key []byte) { t.write().Clear(key) }

// ClearRange implements [kv.Transaction].
func (t *hostileTx) ClearRange(r kv.KeyRange) { t.write().ClearRange(r) }

// Atomic implements [kv.Transaction].
func (t *hostileTx) Atomic(op kv.MutationType, key, operand []byte) {
	t.write().Atomic(op, key, operand)
}

// AddWriteConflictRange implements [kv.Transaction].
func (t *hostileTx) AddWriteConflictRange(r kv.KeyRange) error {
	return t.write().AddWriteConflictRange(r)
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *hostileTx) AddWriteConflictKey(key []byte) error { return t.write().AddWriteConflictKey(key) }

// AddReadConflictRange implements [kv.Transaction].
func (t *hostileTx) AddReadConflictRange(r kv.KeyRange) error { return t.inner.AddReadConflictRange(r) }

// AddReadConflictKey implements [kv.Transaction].
func (t *hostileTx) AddReadConflictKey(key []byte) error { return t.inner.AddReadConflictKey(key) }

// SetReadVersion implements [kv.Transaction].
func (t *hostileTx) SetReadVersion(version int64) { t.inner.SetReadVersion(version) }

// SetOption implements [kv.Transaction].
func (t *hostileTx) SetOption(o kv.Option, arg int64) error {
	if o == kv.OptionAutomaticIdempotency {
		t.mu.Lock()
		t.noUnknown = true
		t.mu.Unlock()
	}
	return t.inner.SetOption(o, arg)
}

// GetApproximateSize implements [kv.Transaction].
func (t *hostileTx) GetApproximateSize() kv.Future[int64] {
	return delay(t, t.inner.GetApproximateSize())
}

// GetCommittedVersion implements [kv.Transaction]. A commit whose answer was
// lost has no version.
func (t *hostileTx) GetCommittedVersion() (int64, error) {
	t.mu.Lock()
	lost := t.lost
	t.mu.Unlock()
	if lost {
		return -1, nil
	}
	return t.inner.GetCommittedVersion()
}

// Transact implements [kv.Transactor].
func (t *hostileTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *hostileTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// ConflictRanges implements [kv.ConflictRanger] where the engine does.
func (t *hostileTx) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	ranger, err := kv.ConflictRangerOf(t.inner)
	if err != nil {
		return nil, nil, err
	}
	return ranger.ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger] where the engine does.
func (t *hostileTx) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranger, err := kv.ConflictRangerOf(t.inner)
	if err != nil {
		return nil, err
	}
	return ranger.ConflictingKeys(ctx)
}
