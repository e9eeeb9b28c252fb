// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
)

// batcher divides writes of many records into transactions. The number of records in
// a transaction adapts to what commits.
type batcher struct {
	source       *source
	options      BatchOptions
	size         int // maximum number of records in the next transaction
	memory       batchMemory
	done         int
	reach        int // how many records the attempts that may have committed have come to
	transactions int

	// Of the current transaction, over all attempts.
	attempts  int
	taken     int   // records of the last attempt
	tried     int   // records that the last attempt tried to write
	uncertain int   // records of the largest attempt
	unsure    bool  // an attempt before the last one may have committed
	unknown   int   // records of the last attempt that may have committed
	fault     error // why the last attempt stopped before its end
}

func newBatcher(s *source, o BatchOptions) (*batcher, error) {
	if err := errors.Join(s.checkUsable(), o.Validate()); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &batcher{source: s, options: o, size: min(firstBatch, o.Records)}, nil
}

// runBatch is one attempt of a transaction: it makes a batch of at most size writes
// and runs it.
type runBatch func(b *batch, size int) (applied int, err error)

// commit runs one transaction, with fewer records as long as it is too large or too
// slow, and counts its records; but not if an attempt may have committed, because what
// that one wrote would not be counted. A fault of a record is returned when the records
// before it are committed.
func (m *batcher) commit(ctx context.Context, run runBatch) error {
	for {
		err := m.transact(ctx, run)
		switch {
		case err == nil:
			m.count()
			if m.fault != nil {
				return m.partial(m.fault)
			}
			return nil
		case m.tried > 1 && isTooMuch(err) && !m.unsure && m.source.tx == nil:
			m.size = m.tried / 2
		default:
			return m.partialAfter(err)
		}
	}
}

// isTooMuch reports whether fewer records may succeed where these did not.
func isTooMuch(err error) bool {
	var given *kv.RetryError
	if errors.As(err, &given) {
		return given.Code == kv.CodeTransactionTooOld && !given.MaybeCommitted
	}
	return kv.CodeOf(err) == kv.CodeTransactionTooLarge
}

// transact runs one transaction: each attempt that fails halves the number of records
// of the next.
//
// The records of the last attempt that ran are those that are written when transact
// returns nil, also if its acknowledgement was lost: before each attempt behind it the
// transaction has looked whether it committed.
func (m *batcher) transact(ctx context.Context, run runBatch) error {
	m.attempts, m.taken, m.uncertain, m.unsure, m.unknown = 0, 0, 0, false, 0
	size := m.size
	err := m.source.runWrite(ctx, func(t *transaction) (err error) {
		if m.attempts++; m.attempts > 1 {
			size = max(size/2, 1)
		}
		b := newBatch(m.source, t, &m.memory)
		defer b.release()
		if m.unsure = t.unsure && m.source.tx == nil; m.unsure {
			m.noteUncertain()
		}
		if m.unsure && t.conflicts == 0 { // the attempt before may be the one that committed
			m.unknown = m.taken
		}
		m.taken, err = run(&b, size)
		m.fault, m.tried, m.uncertain = b.fault, len(b.writes), max(m.uncertain, m.taken)
		if err == nil && m.taken > 0 {
			size = b.fit(size, m.options.Bytes)
		}
		return err
	})
	m.adapt(size, err == nil && m.attempts == 1)
	return err
}

// adapt sets the maximum size of the next transaction.
func (m *batcher) adapt(size int, grow bool) {
	if grow && size == m.size {
		size *= 2
	}
	m.size = min(size, m.options.Records)
}

// count counts the records of a transaction that was committed.
func (m *batcher) count() {
	m.done += m.taken
	if m.source.tx != nil || m.taken == 0 {
		return
	}
	m.transactions++
	if m.options.Progress != nil {
		m.options.Progress(BatchProgress{Done: m.done, Transactions: m.transactions, Last: m.taken})
	}
}

// noteUncertain notes that an attempt of the current transaction may have committed.
func (m *batcher) noteUncertain() { m.reach = max(m.reach, m.done+m.uncertain) }

// partialAfter is partial for the error of a transaction.
func (m *batcher) partialAfter(err error) error {
	if m.unsure || kv.IsOutcomeUnknown(err) {
		m.noteUncertain()
	}
	return m.partial(err)
}

// partial returns the error of writes that stop behind those that are done. Attempts of
// earlier transactions that may have committed count, too: they had more records than the
// attempts after them, which were seen to commit.
func (m *batcher) partial(err error) *PartialError {
	return &PartialError{Type: m.source.record.Type, Done: m.done, Uncertain: max(0, m.reach-m.done), Err: err}
}
