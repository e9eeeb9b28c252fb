// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrChanged is the error of [Store.SaveIfUnchanged] if the stored record is not
// as the caller has seen it.
var ErrChanged = errors.New("persistable: the record was changed meanwhile")

// Update reads the record with that id, lets change change it, and saves it, in
// one transaction: no change that others make in between is lost. If there is
// no such record it returns [ErrNotFound]; one that others delete meanwhile is
// not written again. An error of change is returned, and nothing is written.
//
// change may run again after a conflict, each time with the record as it is
// then, so it must have no effect but on the record. It must not change the id.
// If the acknowledgement of the commit is lost, change is applied to what the
// first attempt may have written already, as in FoundationDB itself: only a
// change that may be applied twice is safe then.
//
// Bound to a transaction by In, it is a part of that.
//
// Cost: two rounds of reads and the commit.
func (s Store[T, ID]) Update(ctx context.Context, id ID, change func(v *T) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	if s.tx != nil {
		return s.update(ctx, id, change)
	}
	return s.place.db.Transact(ctx, func(tx Tx) error { return s.In(tx).update(ctx, id, change) })
}

// update is Update in the store's transaction.
func (s Store[T, ID]) update(ctx context.Context, id ID, change func(v *T) error) error {
	v, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := change(v); err != nil {
		return err
	}
	if packed := s.schema.AppendID(nil, id); !bytes.Equal(s.record.appendID(nil, v), packed) {
		return &FieldError{Type: s.record.typ, Field: "the id", Reason: fmt.Sprintf(
			"the function of Update changed it from %s to %s: create another record instead", idText(packed), idText(s.record.appendID(nil, v)))}
	}
	return s.SaveExisting(ctx, v)
}

// SaveExisting is Save for a record that must be there: if it is not, for
// example because others have deleted it, it returns [ErrNotFound] and writes
// nothing.
//
// Cost: one round of reads and the commit.
func (s Store[T, ID]) SaveExisting(ctx context.Context, v *T) error {
	return s.replace(ctx, v, putting{mustExist: true})
}

// SaveIfUnchanged is Save if the stored record still is as the caller has seen
// it: was is what Get or a query returned, v what is to be stored under the same
// id. If the record differs from was in any field that this program knows, it
// returns [ErrChanged], and if it is gone, [ErrNotFound]; then nothing is
// written. Read the record again and decide anew. It serves where a person, or
// another program, changes a record between reading and saving; within one
// function use [Store.Update].
//
// If the acknowledgement of the commit is lost, it may return ErrChanged for its
// own change.
//
// Cost: one round of reads and the commit.
func (s Store[T, ID]) SaveIfUnchanged(ctx context.Context, was, v *T) error {
	if err := errors.Join(s.mayPut(was), s.mayPut(v)); err != nil {
		return err
	}
	if !bytes.Equal(s.record.appendID(nil, was), s.record.appendID(nil, v)) {
		return &FieldError{Type: s.record.typ, Field: "the id", Reason: "it is not that of the record that the caller has seen"}
	}
	seen, err := s.record.encode([]byte{}, was)
	if err != nil {
		return err
	}
	return s.replace(ctx, v, putting{mustExist: true, seen: seen})
}

// replace puts a record over the stored one.
func (s *Store[T, ID]) replace(ctx context.Context, v *T, how putting) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	return s.write(ctx, func(t *transaction) error { return s.record.put(ctx, t, s.place, v, how) })
}

// checkSeen compares the stored record with what the caller has seen: both as
// this program encodes them.
func (w *write[T]) checkSeen() error {
	if w.seen == nil {
		return nil
	}
	v, err := w.decodeRecord(w.old, w.sc.id, w.sc.key)
	if err != nil {
		return err
	}
	stored, err := w.encode(nil, v)
	if err != nil || bytes.Equal(stored, w.seen) {
		return err
	}
	return fmt.Errorf("%w: %s %s: read it again", ErrChanged, w.typ, idText(w.sc.id))
}
