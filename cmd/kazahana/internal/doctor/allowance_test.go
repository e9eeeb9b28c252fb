// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// allowance is a database in which a transaction may read so much; then its reads fail with
// transaction_too_old. What is 0 is not limited.
type allowance struct {
	kv.Database
	bytes, gets int
	clock       *slowClock // each get takes a while; nil: none does
	spent       *expense
}

// expense is the most that a transaction has read, and how many reads have failed.
type expense struct{ bytes, gets, failed int }

// slowClock is a clock that only reads move on.
type slowClock struct {
	now  time.Time
	step time.Duration // of a get
}

// ReadTransact implements [kv.ReadTransactor].
func (d allowance) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	for {
		err := d.attempt(ctx, fn)
		if kv.CodeOf(err) != kv.CodeTransactionTooOld {
			return err
		}
	}
}

// attempt runs fn once: the loop above does not wait before it repeats.
func (d allowance) attempt(ctx context.Context, fn func(kv.ReadTransaction) error) (failed error) {
	err := d.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		m := &meter{ReadTransaction: tx, of: d}
		if d.clock != nil {
			m.began = d.clock.now
		}
		failed = fn(m)
		d.spent.bytes, d.spent.gets = max(d.spent.bytes, m.bytes), max(d.spent.gets, m.gets)
		return nil
	})
	return errors.Join(failed, err)
}

// meter is a transaction with an allowance. Each read waits for its result.
type meter struct {
	kv.ReadTransaction
	of          allowance
	bytes, gets int
	began       time.Time
}

// spend counts a read, and returns an error if it is too much.
func (m *meter) spend(gets, bytes int) error {
	m.gets, m.bytes = m.gets+gets, m.bytes+bytes
	d := m.of
	old := false
	if d.clock != nil {
		d.clock.now = d.clock.now.Add(time.Duration(gets) * d.clock.step)
		old = d.clock.now.Sub(m.began) > kv.MaxTransactionAge
	}
	if old || d.bytes > 0 && m.bytes > d.bytes || d.gets > 0 && m.gets > d.gets {
		d.spent.failed++
		return kv.NewError(kv.CodeTransactionTooOld, "made up: %d gets, %d bytes", m.gets, m.bytes)
	}
	return nil
}

// Get implements [kv.ReadTransaction].
func (m *meter) Get(key []byte) kv.Future[[]byte] {
	value, err := m.ReadTransaction.Get(key).Get(context.Background())
	if err == nil {
		err = m.spend(1, len(value))
	}
	return kv.Resolved(value, err)
}

// GetRange implements [kv.ReadTransaction].
func (m *meter) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return m.ReadTransaction.GetRange(r, o).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		b, err := f.Get(context.Background())
		size := 0
		for _, pair := range b.KVs {
			size += len(pair.Key) + len(pair.Value)
		}
		if err == nil {
			err = m.spend(0, size)
		}
		return kv.Resolved(b, err)
	})
}
