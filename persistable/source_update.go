// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
)

// update changes the record with that packed id by change, in the source's
// transaction or in one of its own.
func (s source) update(ctx context.Context, id []byte, change func(v any) error) (err error) {
	ctx, o := s.begin(ctx, "Update", byID)
	defer o.finish(&err)
	sc := getScratch()
	defer sc.release()
	run := func(t *transaction) error {
		sc.id = append(sc.id[:0], id...)
		w := write{record: s.record, putOptions: putOptions{mustExist: true}, t: t, place: s.place, sc: sc, change: change}
		return w.update(ctx)
	}
	if s.tx != nil || s.checkUsable() != nil {
		return s.runWrite(ctx, run)
	}
	return s.place.db.transactFunction(ctx, func(t *transaction) error {
		t.untouched = true
		return run(t)
	})
}

// saveIfUnchanged saves v if the stored record still is was.
func (s source) saveIfUnchanged(ctx context.Context, was, v any) (err error) {
	ctx, o := s.begin(ctx, "SaveIfUnchanged", byID)
	defer o.finish(&err)
	if err := errors.Join(s.mayPut(was), s.mayPut(v)); err != nil {
		return err
	}
	if !bytes.Equal(s.record.appendID(nil, was), s.record.appendID(nil, v)) {
		return &FieldError{Type: s.record.Type, Field: "ID", Reason: "it differs from the id of the record that the caller has seen"}
	}
	seen, err := s.record.Encode([]byte{}, was)
	if err != nil {
		return err
	}
	return s.replace(ctx, v, putOptions{mustExist: true, seen: seen})
}

// replace puts a record over the stored one.
func (s source) replace(ctx context.Context, v any, how putOptions) (err error) {
	ctx, o := s.begin(ctx, "SaveExisting", byID)
	defer o.finish(&err)
	if err := s.mayPut(v); err != nil {
		return err
	}
	if err := s.makeReadyToReplace(v); err != nil {
		return err
	}
	return s.put(ctx, v, how)
}

// makeReadyToReplace makes a record ready. Its hooks may set an id that is missing.
func (s *source) makeReadyToReplace(v any) error {
	if !s.record.hasID(v) {
		return s.record.makeReady(v, false)
	}
	return s.record.makeReadyAs(s.record.appendID(nil, v), v, false)
}
