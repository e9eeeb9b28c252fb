// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/reindex"
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

// Decoder reads the stored bytes of records by the header of their store, without a
// database: for tools that examine one. It is immutable and safe for concurrent use.
type Decoder struct {
	typ     *recordType
	args    []string
	refusal error
}

// NewDecoder returns the decoder of the store that has the header, in the directory at a
// path. The layers are those of the path's elements.
func NewDecoder(header []byte, path, layers []string) (*Decoder, error) {
	c, err := format.DecodeCatalog(header)
	if err != nil {
		return nil, err
	}
	t, err := newRecordType(c)
	if err != nil {
		return nil, err
	}
	at := t.locateAt(path, layers)
	return &Decoder{t, at.args, at.refusal}, nil
}

// Shards returns over how many shards the records are scattered.
func (d *Decoder) Shards() int { return int(d.typ.catalog.Scatter()) }

// Moved returns a *[persistable.DirectoryError] if the path is not that of the type.
func (d *Decoder) Moved() error { return d.refusal }

// Compile makes the program of an index in the header; see package reindex.
func (d *Decoder) Compile(keyName, layout string) (*reindex.Program, error) {
	return reindex.Compile(keyName, layout, d.typ.catalog.Schema())
}

// HasField reports whether the schema has a field, also Outer.Inner.
func (d *Decoder) HasField(name string) bool {
	_, err := d.typ.body.Path(name)
	return err == nil
}

// Decode reads the bytes of a record after its header, and returns the packed id that it
// says. The error about malformed bytes says where in them the fault is.
func (d *Decoder) Decode(payload []byte) (r *Record, id []byte, err error) {
	v, err := d.typ.decode(payload, nil)
	if err != nil {
		return nil, nil, err
	}
	r = recordOf(v)
	return r, []byte(r.id.packed), nil
}

// CheckDirectory compares the {Field}s of the type's directory with the path. It returns
// the first field that differs, and its value.
func (d *Decoder) CheckDirectory(r *Record) (field, got string, same bool) {
	return d.typ.checkArgs(r, d.args)
}

// ValueError is what is wrong with the JSON of a record.
type ValueError struct {
	Type   string // of the record
	Member string // the names that lead to it, such as Address.Zip or Lines[2].Price; "" for the whole
	Line   int    // of the text, from 1
	Reason string // what is wrong, and what is wanted
}

// Error implements error.
func (e *ValueError) Error() string {
	where := fmt.Sprintf("line %d", e.Line)
	if e.Member != "" {
		where += ", " + e.Member
	}
	return fmt.Sprintf("dynamic: no record of %s: %s: %s", e.Type, where, e.Reason)
}
