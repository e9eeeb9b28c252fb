// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// Decoder reads the stored bytes of records by the header of their store, without a
// database: for tools that examine one. It is immutable and safe for concurrent use.
type Decoder struct {
	typ     *recordType
	args    []string
	refusal error
}

// NewDecoder returns the decoder of the store that has the header, in the directory at a
// path whose elements have these layers.
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

// Type returns the name of the type.
func (d *Decoder) Type() string { return d.typ.name }

// Shards returns over how many shards the records are scattered.
func (d *Decoder) Shards() index.Shards { return d.typ.catalog.Scatter() }

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

// Decode reads the bytes of a record behind its header, and returns the packed id that it
// says. Malformed bytes are a *[wire.Error].
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
