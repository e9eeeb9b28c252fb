// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"

	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
)

// ParseRecord returns the record that a JSON object describes, with values as the
// package's comment says. A missing member is the zero value, null, or the field's default;
// a missing id is made by Create, if the library makes the ids of the type; missing
// {Field}s of the directory are those of the store. What cannot be is a [*ValueError].
func (s *Store) ParseRecord(text []byte) (*Record, error) {
	m, err := s.typ.body.ParseJSON(text)
	if err != nil {
		return nil, newValueError(s.typ.name, err)
	}
	r := &Record{typ: s.typ, body: m}
	if id := s.typ.idOf(m); !s.typ.isNone(id) {
		r.id = id
	}
	s.typ.fillArgs(r, s.args)
	return r, nil
}

// newValueError returns the error of a text that is no record.
func newValueError(typ string, err error) error {
	var fault *message.Error
	if !errors.As(err, &fault) {
		return err
	}
	return &ValueError{Type: typ, Member: fault.Path, Line: fault.Line, Reason: fault.Reason}
}
