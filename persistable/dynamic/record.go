// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
)

// Record is a record of a store that was opened by its header. The store's methods and
// queries return it, [Store.ParseRecord] makes one of JSON. Fields that the header's
// schema does not have are not in it; they survive a save. A Record is for one goroutine
// while a store's Create or Save sets its id; otherwise it is immutable.
type Record struct {
	typ     *recordType
	id      ID
	version persistable.Version
	body    *message.Message // the id in it counts only if it is that of id
}

// ID returns the record's id; the zero ID if it has none yet.
func (r *Record) ID() ID { return r.id }

// Type returns the name of the record's type.
func (r *Record) Type() string { return r.typ.name }

// Version returns the version of the record as it was read; the zero Version if its type
// has none, or the record was not read.
func (r *Record) Version() persistable.Version { return r.version }

// MarshalJSON implements [json.Marshaler]: an object with a member for each field of the
// schema, in the order of their numbers, as [Store.ParseRecord] says. The version is not
// in it.
func (r *Record) MarshalJSON() ([]byte, error) { return r.whole().AppendJSON(nil), nil }

// whole returns the record's values, with its id.
func (r *Record) whole() *message.Message {
	m, err := r.withID()
	if err != nil {
		return r.body
	}
	return m
}

// withID is whole, or an error if the id is not of the kind that the type's ids have.
func (r *Record) withID() (*message.Message, error) {
	if r.id.IsZero() || r.typ.idOf(r.body) == r.id {
		return r.body, nil
	}
	v, rest, err := r.typ.id.ReadKey([]byte(r.id.packed))
	if err != nil || len(rest) > 0 {
		return nil, &persistable.FieldError{Type: r.typ.name, Field: r.typ.id.Name, Reason: fmt.Sprintf("the id %s is of another type's kind", r.id), Err: err}
	}
	m := r.body.Clone()
	r.typ.id.Set(m, v)
	return m, nil
}

// encode appends the record as generated code does.
func (r *Record) encode(b []byte) ([]byte, error) {
	m, err := r.withID()
	if err != nil {
		return nil, err
	}
	b, err = m.Append(b)
	var fault *message.Error
	if errors.As(err, &fault) {
		return nil, &persistable.FieldError{Type: r.typ.name, Field: fault.Path, Reason: fault.Reason}
	}
	return b, err
}

// recordOf returns the record that the engine has.
func recordOf(v any) *Record { return v.(*Record) }
