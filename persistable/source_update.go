// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// update changes the record with that packed id by change, in the source's
// transaction or in one of its own.
func (s source) update(ctx context.Context, id []byte, change func(v any) error) error {
	if err := s.checkUsable(); err != nil {
		return err
	}
	if s.tx != nil {
		return s.updateIn(ctx, id, change)
	}
	return s.place.db.Transact(ctx, func(tx Tx) error {
		s.tx = tx.t
		return s.updateIn(ctx, id, change)
	})
}

// updateIn is update in the source's transaction.
func (s *source) updateIn(ctx context.Context, id []byte, change func(v any) error) error {
	sc := getScratch()
	defer sc.release()
	sc.id = append(sc.id[:0], id...)
	v, err := s.get(ctx, sc)
	if err != nil {
		return err
	}
	if err := change(v); err != nil {
		return err
	}
	if changed := s.record.appendID(nil, v); !bytes.Equal(changed, id) {
		return &FieldError{Type: s.record.Type, Field: "the id", Reason: fmt.Sprintf(
			"the function of Update changed it from %s to %s: create another record instead", idText(id), idText(changed))}
	}
	return s.replace(ctx, v, putOptions{mustExist: true})
}

// saveIfUnchanged saves v if the stored record still is was.
func (s source) saveIfUnchanged(ctx context.Context, was, v any) error {
	if err := errors.Join(s.mayPut(was), s.mayPut(v)); err != nil {
		return err
	}
	if !bytes.Equal(s.record.appendID(nil, was), s.record.appendID(nil, v)) {
		return &FieldError{Type: s.record.Type, Field: "the id", Reason: "it differs from the id of the record that the caller has seen"}
	}
	seen, err := s.record.Encode([]byte{}, was)
	if err != nil {
		return err
	}
	return s.replace(ctx, v, putOptions{mustExist: true, seen: seen})
}

// replace puts a record over the stored one.
func (s source) replace(ctx context.Context, v any, how putOptions) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	return s.put(ctx, v, how)
}
