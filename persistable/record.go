// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// record is the schema of a type of records at a place, with the methods of this
// package.
type record struct {
	*erased.Schema
	args []string // of the place: the values of the {Field}s
}

// appendID appends the packed id of a record to b.
func (r *record) appendID(b []byte, v any) []byte { return r.AppendID(b, v) }

// hasID reports whether the id of a record is set.
func (r *record) hasID(v any) bool { return r.HasID(v) }

// readWhole returns a stored record with all its bytes. It reads the chunks after
// the first value, if there are any.
func (r *record) readWhole(ctx context.Context, reader kv.ReadTransaction, id, key, value []byte) (format.Record, error) {
	s, err := format.ParseRecord(value)
	if err != nil {
		return s, recordError(r.Type, idText(id), key, err)
	}
	if s.Chunks == 0 {
		return s, nil
	}
	chunks := make([]kv.Future[[]byte], s.Chunks)
	for i := range chunks {
		chunks[i] = reader.Get(format.AppendChunk(slices.Clone(key), i+1))
	}
	whole := make([]byte, 0, (s.Chunks+1)*kv.MaxValueSize)
	whole = append(whole, s.Payload...)
	for i, chunk := range chunks {
		part, err := chunk.Get(ctx)
		if err != nil {
			return s, err
		}
		if part == nil {
			return s, corrupt(r.Type, id, key, "of its %d further chunks, the %d. is missing", s.Chunks, i+1)
		}
		whole = append(whole, part...)
	}
	s.Payload = whole
	return s, nil
}

// decodeRecord decodes a stored record and checks that it has the id of its key.
func (r *record) decodeRecord(s format.Record, id, key []byte) (any, error) {
	sc := getScratch()
	defer sc.release()
	sc.strings.Expect(len(s.Payload))
	return r.decodeWith(sc, s, id, key)
}

// decodeWith is decodeRecord for a record that shares memory with others: its strings
// are made of those of sc.
func (r *record) decodeWith(sc *scratch, s format.Record, id, key []byte) (any, error) {
	v, err := r.decodeHere(s.Payload, &sc.strings)
	if err != nil {
		return nil, recordError(r.Type, idText(id), key, err)
	}
	if sc.id = r.appendID(sc.id[:0], v); !bytes.Equal(sc.id, id) {
		return nil, corrupt(r.Type, id, key, "it says that its id is %s", idText(sc.id))
	}
	return v, nil
}

// readValue decodes the value under a record's key.
func (r *record) readValue(ctx context.Context, reader kv.ReadTransaction, id, key, value []byte) (any, error) {
	s, err := r.readWhole(ctx, reader, id, key, value)
	if err != nil {
		return nil, err
	}
	return r.decodeRecord(s, id, key)
}

// readWith is readValue for a record that shares memory with others, as decodeWith does.
func (r *record) readWith(ctx context.Context, sc *scratch, reader kv.ReadTransaction, id, key, value []byte) (any, error) {
	s, err := r.readWhole(ctx, reader, id, key, value)
	if err != nil {
		return nil, err
	}
	return r.decodeWith(sc, s, id, key)
}

// scratch is memory that operations use one after the other. The engine copies the
// keys and values that it is given.
type scratch struct {
	id, key []byte
	value   []byte // the record about to be written, with its header
	entry   []byte // the value of an index entry
	now     index.Set
	before  index.Set
	claims  index.Claims
	strings wire.Strings // of the records that are read
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKept is the largest buffer, in bytes, that a scratch keeps between operations.
const maxKept = 1 << 17

func getScratch() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) release() {
	if cap(s.value) > maxKept || cap(s.entry) > maxKept {
		s.value, s.entry = nil, nil
	}
	s.strings = wire.Strings{} // a scratch keeps no memory of records
	s.claims.Reset()           // nor of transactions
	scratches.Put(s)
}

// decodeHere decodes a record. Its {Field}s have the values of the directory, even if
// the stored bytes have others, because the tenant was moved or copied to another
// name: where a record is decides whose it is.
func (r *record) decodeHere(payload []byte, s *wire.Strings) (any, error) {
	v, _, err := r.bind(payload, s)
	return v, err
}

// bind returns a record, and its bytes, with the {Field}s of the directory.
func (r *record) bind(payload []byte, s *wire.Strings) (any, []byte, error) {
	v, err := r.Decode(payload, s)
	if err != nil || r.CheckArgs == nil {
		return v, payload, err
	}
	if _, _, ok := r.CheckArgs(v, r.args); ok {
		return v, payload, nil
	}
	bound, err := r.encodeArgs()
	if err != nil {
		return nil, nil, err
	}
	payload = slices.Concat(payload, bound) // of a field that comes twice, the last one counts
	v, err = r.Decode(payload, s)
	return v, payload, err
}

// encodeArgs returns the {Field}s of the place as a record's bytes.
func (r *record) encodeArgs() ([]byte, error) {
	v, err := r.Decode(nil, nil)
	if err != nil {
		return nil, err
	}
	r.FillArgs(v, r.args)
	all, err := r.Encode(nil, v)
	if err != nil {
		return nil, err
	}
	numbers, err := r.argNumbers()
	if err != nil {
		return nil, err
	}
	return wire.KeepFields(all, numbers)
}

// argNumbers returns the numbers of the {Field}s.
func (r *record) argNumbers() (numbers []int32, err error) {
	lock, err := r.Parsed()
	if err != nil {
		return nil, err
	}
	for _, e := range r.Directory {
		for _, f := range lock.Block(r.Type).Fields {
			if e.Field != "" && f.Name == e.Field {
				numbers = append(numbers, f.Number)
			}
		}
	}
	return numbers, nil
}

// checkID is the rule of all verbs that write a record: it returns [ErrNoID] for an id that
// is not set, and a *[FieldError] for one that cannot be one.
func (r *record) checkID(v any) error {
	if !r.hasID(v) {
		return fmt.Errorf("%w: %s: an id that is zero or empty counts as none: set another one", ErrNoID, r.Type)
	}
	if fault := r.IDFault(v); fault != "" {
		return &FieldError{Type: r.Type, Field: "ID", Reason: fault}
	}
	return nil
}

// gatherEntries collects the entries of a record in all maintained indexes.
func (r *record) gatherEntries(set *index.Set, o *openStore, id []byte, v any) error {
	set.Reset()
	for i := range r.Indexes {
		if e := set.Open(&o.indexes[i], id); e != nil {
			if err := r.AppendEntries(i, e, v); err != nil {
				return err
			}
		}
		if err := set.Close(&o.indexes[i]); err != nil {
			return r.indexError(err)
		}
		if len(r.Indexes[i].CoverFields) > 0 && set.Keys(i) > 0 {
			if err := set.EndCover(&o.indexes[i], r.Covers(i, set.BeginCover(), v)); err != nil {
				return r.indexError(err)
			}
		}
	}
	return nil
}

// indexError turns an error of package index into one of this package.
func (r *record) indexError(err error) error {
	if err == nil {
		return nil
	}
	var size *index.KeySizeError
	var cover *index.CoverSizeError
	var taken *index.TakenError
	var many *index.EntriesSizeError
	var entry *index.EntryError
	switch {
	case errors.As(err, &size):
		return &FieldError{Type: r.Type, Field: size.Field, Reason: "it cannot be indexed", Err: size}
	case errors.As(err, &cover):
		return &FieldError{Type: r.Type, Field: strings.Join(cover.Definition.CoverFields, "+"), Reason: "an index cannot copy it", Err: cover}
	case errors.As(err, &many):
		return &FieldError{Type: r.Type, Field: strings.Join(many.Definition.Fields, "+"), Reason: "an index cannot hold all of its words", Err: many}
	case errors.As(err, &taken):
		return r.uniqueError(taken)
	case errors.As(err, &entry):
		return &RecordError{Type: r.Type, Key: entry.Key, Reason: "an index entry is damaged", Remedy: "run Indexes().Build after disabling the index, or Verify to see more", Err: err}
	}
	return err
}

func (r *record) uniqueError(e *index.TakenError) error {
	owner, err := r.IDs.Read(e.Owner)
	if err != nil {
		owner = idText(e.Owner)
	}
	return &UniqueError{Type: r.Type, Index: e.Definition.Name, Fields: e.Definition.Fields, Values: e.Values, Owner: owner}
}

// idValue is the id in its own type, or its text if it cannot be read.
func (r *record) idValue(packed []byte) any {
	if id, err := r.IDs.Read(packed); err == nil {
		return id
	}
	return idText(packed)
}

// gatherBoth collects the entries of a record in all maintained indexes: in the
// program's own from the struct v, in foreign ones from the payload.
func (r *record) gatherBoth(set *index.Set, o *openStore, id, key []byte, v any, payload []byte) error {
	if err := r.gatherEntries(set, o, id, v); err != nil {
		return err
	}
	return r.gatherForeign(set, o, id, key, v, payload)
}

// gatherForeign adds the entries of a record in foreign indexes.
func (r *record) gatherForeign(set *index.Set, o *openStore, id, key []byte, v any, payload []byte) error {
	if !o.hasForeign() {
		return nil
	}
	_, payload, err := r.bind(payload, nil)
	if err == nil {
		err = o.gatherForeign(r, set, id, v, payload)
	}
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return recordError(r.Type, idText(id), key, err)
	}
	return r.indexError(err)
}

// danglingEntry is the fault of an index entry without a record.
func (r *record) danglingEntry(ix *index.Index, entry, id []byte) error {
	return &RecordError{
		Type: r.Type, ID: idText(id), Key: slices.Clone(entry),
		Reason: "an entry of the index " + ix.KeyName() + " names this record, but it is not there",
		Remedy: "run Verify, then Indexes().Rebuild",
	}
}

func (r *record) indexFields() (all [][]string) {
	for i := range r.Indexes {
		all = append(all, r.Indexes[i].Fields)
	}
	return all
}

// hasVersions reports whether the program's type has versions.
func (r *record) hasVersions() bool {
	return slices.ContainsFunc(r.Indexes, func(d index.Definition) bool { return d.Kind == index.Version })
}

// noVersions is the error of an operation that needs the versions of records.
func (r *record) noVersions() error {
	if r.hasVersions() {
		return sentinel.Mark(ErrNoVersions, fmt.Errorf("persistable: the versions of %s are not complete: run Indexes().Build", r.Type))
	}
	return sentinel.Mark(ErrNoVersions, fmt.Errorf("persistable: %s has no versions: add a field of type persistable.Version, blank or with a name, and run persistgen", r.Type))
}

// setVersion sets the version of a record to the stored one, nil for none.
func (r *record) setVersion(record any, stored []byte) error {
	field := r.Version(record)
	if *field = (Version{}); stored == nil {
		return nil
	}
	if len(stored) != len(field) {
		return fmt.Errorf("persistable: a version of %s has %d bytes instead of %d: run Indexes().Rebuild of its version index", r.Type, len(stored), len(field))
	}
	copy(field[:], stored)
	return nil
}

// versionReads are reads of the versions of records, for types that have a field for it.
// They are started with the reads of the records. The zero value reads nothing.
type versionReads struct {
	record *record
	t      *transaction
	index  *versionIndex // nil: nothing is read
	reads  []kv.Future[[]byte]
}

func newVersionReads(r *record, t *transaction, o *openStore) versionReads {
	if r.Version == nil || o == nil {
		return versionReads{}
	}
	return versionReads{record: r, t: t, index: o.versions}
}

// add starts the read of the next record's version. A version that the transaction writes
// itself is not known: it is left zero.
func (v *versionReads) add(id []byte) {
	if v.index == nil {
		return
	}
	key := v.index.versionKey(id)
	if !v.t.isReadOnly() && v.t.versions.isOwn(key) {
		v.reads = append(v.reads, kv.Future[[]byte]{})
		return
	}
	v.reads = append(v.reads, v.t.Reader.Get(key))
}

// fill sets the version of the i-th record that was added.
func (v *versionReads) fill(ctx context.Context, i int, record any) error {
	if v.index == nil || record == nil {
		return nil
	}
	stored, err := v.reads[i].Get(ctx)
	if err != nil {
		return pending(err) // another Tx of the transaction has written it
	}
	return v.record.setVersion(record, stored)
}

// checkReadable returns an [ErrNotBuilt] if an index may not be read.
func (r *record) checkReadable(o *openStore, i int) error {
	if ix := &o.indexes[i]; ix.State != index.Readable {
		return notBuilt(r.Type, ix)
	}
	return nil
}

// notBuilt is the error of a query of an index that is not readable.
func notBuilt(typ string, ix *index.Index) error {
	return sentinel.Mark(ErrNotBuilt, fmt.Errorf("persistable: %s: the index %s is %s in this store: run Indexes().Build and query again", typ, ix.KeyName(), ix.State))
}
