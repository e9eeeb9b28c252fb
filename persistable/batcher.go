// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// BatchOptions say how the writes of many records are divided into transactions. The
// zero value is a good choice.
type BatchOptions struct {
	// Records is the maximum number of records in a transaction. The default value
	// is 1000. The first transaction has 100 at most; the number doubles after each
	// that commits at once, and halves after each attempt that fails.
	Records int
	// Bytes is about how many bytes of keys and values a transaction writes at most.
	// The default value is 1,000,000; FoundationDB allows ten times as much, but
	// works best below. A record that is larger has a transaction of its own.
	Bytes int
	// Progress is called after each commit, by the goroutine of the caller. nil: it
	// is not called. It is not called in a transaction of the caller.
	Progress func(BatchProgress)
}

// BatchProgress is how far the writes of many records have come.
type BatchProgress struct {
	Done         int // records written so far, or deleted
	Transactions int // committed so far
	Last         int // records of the last transaction
}

// Validate reports all faults of the options, joined.
func (o BatchOptions) Validate() error {
	var faults []error
	if o.Records < 0 {
		faults = append(faults, fmt.Errorf("persistable: BatchOptions.Records is %d, must not be negative", o.Records))
	}
	if o.Bytes < 0 || o.Bytes > maxRecordSize {
		faults = append(faults, fmt.Errorf("persistable: BatchOptions.Bytes is %d, must be from 0 to %d", o.Bytes, maxRecordSize))
	}
	return errors.Join(faults...)
}

const (
	firstBatch   = 100       // the maximum number of records in the first transaction
	bytesOfBatch = 1_000_000 // the default of BatchOptions.Bytes
)

func (o BatchOptions) withDefaults() BatchOptions {
	o.Records = orDefault(o.Records, 1000)
	o.Bytes = orDefault(o.Bytes, bytesOfBatch)
	return o
}

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

// putAll puts the records of a sequence and returns how many it has written.
func (m *batcher) putAll(ctx context.Context, how putOptions, vs iter.Seq2[any, error]) (int, error) {
	var stop error // the error of a record, or of the sequence
	var pending []any
	for v, err := range vs {
		if err == nil {
			err = m.complete(ctx, v, how)
		}
		if stop = err; err != nil {
			break
		}
		pending = append(pending, v)
		for len(pending) >= m.size {
			if pending, err = m.putSome(ctx, pending, how); err != nil {
				return m.done, err
			}
		}
	}
	for len(pending) > 0 {
		var err error
		if pending, err = m.putSome(ctx, pending, how); err != nil {
			return m.done, err
		}
	}
	if stop != nil {
		return m.done, m.partial(stop)
	}
	return m.done, nil
}

// complete prepares a record for the put that is meant.
func (m *batcher) complete(ctx context.Context, v any, how putOptions) error {
	if !how.mustExist {
		return m.source.complete(ctx, v, how.mustBeNew)
	}
	if err := m.source.mayPut(v); err != nil {
		return err
	}
	return m.source.makeReadyToReplace(v)
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
		hooked, _ := errors.AsType[*hookedFault](err)
		switch {
		case err == nil:
			m.count()
			if m.fault != nil {
				return m.partial(m.fault)
			}
			return nil
		case m.tried > 1 && isTooMuch(err) && !m.unsure && m.source.tx == nil:
			m.size = m.tried / 2
		case hooked != nil && hooked.before > 0 && !m.unsure && m.source.tx == nil:
			m.size = hooked.before
		case hooked != nil:
			return m.partialAfter(hooked.err)
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
// returns nil, even if its acknowledgement was lost: before each attempt after it the
// transaction has looked whether it committed.
func (m *batcher) transact(ctx context.Context, run runBatch) error {
	m.attempts, m.taken, m.uncertain, m.unsure, m.unknown = 0, 0, 0, false, 0
	size := m.size
	m.memory.spans.enabled = m.transactions > 0 // a small call takes one round of reads, whatever lies between its keys
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
	m.source.db = m.source.db.Maintenance() // it is a load of several transactions
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

// partial returns the error of writes that stop after those that are done. Attempts of
// earlier transactions that may have committed count, too: they had more records than the
// attempts after them, which were seen to commit.
func (m *batcher) partial(err error) *PartialError {
	return &PartialError{Type: m.source.record.Type, Done: m.done, Uncertain: max(0, m.reach-m.done), Err: err}
}

// putSome writes the first of the records in one transaction and returns the others.
func (m *batcher) putSome(ctx context.Context, vs []any, how putOptions) (rest []any, err error) {
	err = m.commit(ctx, func(b *batch, size int) (int, error) {
		if found, err := b.open(ctx, b.checkCreation(ctx, vs[0], how)); err != nil {
			return 0, err
		} else if !found {
			b.fault = b.notFound(vs[0])
			return 0, nil
		}
		if stored, err := m.isStored(ctx, b, vs[:m.unknown], how); stored || err != nil {
			return m.unknown, err
		}
		for _, v := range vs[:min(size, len(vs))] {
			if !b.addRecord(ctx, v, how, m.options.Bytes) {
				break
			}
		}
		return b.runBefore(ctx)
	})
	return slices.Delete(vs, 0, m.taken), err
}

// isStored reports whether the database has what an earlier attempt, which may have
// committed, has saved. That attempt is not repeated: a record that took a unique value from
// one before it in the list would make the repetition fail at that one. Records that an attempt
// has created tell it by their token: see [transaction.committedEarlier].
func (m *batcher) isStored(ctx context.Context, b *batch, vs []any, how putOptions) (bool, error) {
	if len(vs) == 0 || how.mustBeNew || m.source.record.Hooks.InTransaction() { // hooks would write for nothing
		return false, nil
	}
	saved := newBatch(m.source, b.t, &batchMemory{})
	defer saved.release()
	saved.store = b.store
	for _, v := range vs {
		if !saved.addRecord(ctx, v, how, math.MaxInt) {
			return false, nil
		}
	}
	if err := saved.startReads(ctx); err != nil {
		return false, err
	}
	return saved.isUnchanged(ctx)
}

// deleteIDs deletes the records with the first of these ids in one transaction.
func (m *batcher) deleteIDs(ctx context.Context, ids [][]byte) error {
	return m.commit(ctx, func(b *batch, size int) (int, error) {
		some := ids[:min(size, len(ids))]
		if found, err := b.open(ctx, nil); err != nil || !found {
			return len(some), err
		}
		for _, id := range some {
			if err := b.addDeletion(ctx, id); err != nil {
				return 0, err
			}
		}
		return b.runBefore(ctx) // hooks and cascades may have written
	})
}

// PartialError says that the writes of many records stopped, and where. It unwraps to
// the cause.
//
// Of CreateMany and SaveMany the first Done records of the list are written, and of
// CreateFrom and SaveFrom the first Done of the sequence. If a record cannot be
// written, all records before it are: the cause is that of the record at Done.
// After the cause is removed, another call may go on with the rest, vs[e.Done:].
//
// Uncertain is not 0 if the outcome of a commit is unknown, because the context ended
// during it, for example, or because its acknowledgement was lost and the attempts after it
// had fewer records. Then at most Uncertain records after the first Done may be written,
// too. To go on, look which of them are there, or use SaveMany, which may write a record
// twice.
//
// In a transaction of the caller nothing is committed yet; Done is the number of
// records that the transaction would write. Let its function return the error.
type PartialError struct {
	Type      string
	Done      int // records that are written, or deleted
	Uncertain int // further records of which it is unknown
	Err       error
}

// Error implements error.
func (e *PartialError) Error() string {
	text := fmt.Sprintf("persistable: %s: stopped after %d records", e.Type, e.Done)
	if e.Uncertain > 0 {
		text += fmt.Sprintf(" (up to %d more may be written)", e.Uncertain)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }
