// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// fillBatch indexes the next records of a range, in one transaction with the progress
// of the range. It returns the range as it is then; nil if another worker has claimed
// it, or the list is gone. If the transaction is too large, or takes too long, it tries
// again with half as much.
func (w *worker) fillBatch(ctx context.Context, begin []byte, expired *Range) (*Range, error) {
	for {
		r, taken, err := w.tryBatch(ctx, begin, expired)
		if !isTooMuch(err) || taken.Records < 2 {
			return r, err
		}
		w.effort.shrink(taken)
	}
}

// isTooMuch reports whether less in a transaction may help after the error.
func isTooMuch(err error) bool {
	var slow *kv.RetryError
	return kv.CodeOf(err) == kv.CodeTransactionTooLarge || errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld
}

// tryBatch is fillBatch with the effort that the attempts before have left.
func (w *worker) tryBatch(ctx context.Context, begin []byte, expired *Range) (r *Range, taken Portion, err error) {
	attempts, begun := 0, w.options.Now()
	err = w.store.Transact(ctx, func(t Transaction) error {
		if attempts++; attempts > 1 {
			w.effort.shrink(taken)
		}
		r, taken, err = w.fillNext(ctx, t, begin, expired)
		return err
	})
	switch {
	case err != nil:
	case attempts == 1:
		w.effort.grow()
	default:
		w.effort.slowDown()
	}
	w.effort.taken, w.effort.took = taken.Bytes, w.options.Now().Sub(begun)
	return r, taken, err
}

// fillNext is one attempt. All that decides what it does is read in it: after a commit
// of unknown outcome the next attempt goes on behind what was committed.
func (w *worker) fillNext(ctx context.Context, t Transaction, begin []byte, expired *Range) (*Range, Portion, error) {
	at := t.Place()
	r, indexes, err := w.readClaim(ctx, t, begin)
	if err != nil || r == nil || r.IsDone() || !r.mayBeClaimed(w.id, expired) {
		return nil, Portion{}, err
	}
	b := Batch{From: r.Next, To: r.End, Records: w.effort.records, Bytes: w.effort.bytes, Indexes: indexes}
	taken, err := t.Fill(ctx, b)
	if err != nil {
		return nil, taken, err
	}
	if err := w.protect(t, b, taken); err != nil {
		return nil, taken, err
	}
	w.advance(r, taken)
	at.List.writeRange(t.KV(), r)
	Reach(ctx, Filled)
	return r, taken, nil
}

// readClaim reads the list's indexes and one of its ranges; nil if there is no such
// range any more. The transaction conflicts with every change of both.
func (w *worker) readClaim(ctx context.Context, t Transaction, begin []byte) (*Range, []bool, error) {
	at := t.Place()
	members, err := at.List.readMembers(ctx, t.KV())
	if err != nil || members == nil {
		return nil, nil, err
	}
	if err := at.checkMembers(members); err != nil {
		return nil, nil, err
	}
	r, err := at.List.readRange(ctx, t.KV(), begin)
	indexes := make([]bool, len(at.Indexes))
	for i := range at.Indexes {
		ix := &at.Indexes[i]
		indexes[i] = ix.State == index.Building && slices.Contains(members, MemberOf(ix.Definition))
	}
	return r, indexes, err
}

// protect makes the transaction conflict with all writes of records that it covers, and
// with exactly those (rules 3 and 4 of the package). The records were read as a
// snapshot, which has read further than the batch goes.
func (w *worker) protect(t Transaction, b Batch, taken Portion) error {
	at := t.Place()
	covered := kv.KeyRange{Begin: slices.Concat(at.Records, b.From), End: slices.Concat(at.Records, taken.Next)}
	if err := t.KV().AddReadConflictRange(covered); err != nil {
		return err
	}
	for i := range at.Indexes {
		if b.Indexes[i] && !at.Indexes[i].Kind.Idempotent() {
			return t.KV().AddWriteConflictRange(covered)
		}
	}
	return nil
}

// advance notes in the range what was indexed.
func (w *worker) advance(r *Range, taken Portion) {
	now := w.options.Now()
	r.Next, r.Worker, r.Beats = taken.Next, w.id, r.Beats+1
	r.Records += int64(taken.Records)
	r.Bytes += int64(taken.Bytes)
	r.Busy += max(now.Sub(w.begun), 0)
	w.begun = now
	if r.IsDone() {
		r.Worker = nil
	}
}

// renew shows other workers that this one lives.
func (w *worker) renew(ctx context.Context, begin []byte) error {
	return w.changeClaim(ctx, begin, func(r *Range) { r.Beats++ })
}

// release gives a range back, so that another worker need not wait for the lease. It
// does not wait long: the claim expires as well.
func (w *worker) release(ctx context.Context, begin []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = w.changeClaim(ctx, begin, func(r *Range) { r.Worker, r.Beats = nil, r.Beats+1 })
}

// changeClaim changes a range, if it is still the worker's own.
func (w *worker) changeClaim(ctx context.Context, begin []byte, change func(*Range)) error {
	return w.store.Transact(ctx, func(t Transaction) error {
		at := t.Place()
		r, err := at.List.readRange(ctx, t.KV(), begin)
		if err != nil || r == nil || r.IsDone() || string(r.Worker) != string(w.id) {
			return err
		}
		change(r)
		at.List.writeRange(t.KV(), r)
		return nil
	})
}
