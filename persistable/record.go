// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
	"github.com/kazahana-db/kazahana/tuple"
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

// idText shows a packed id to people.
func idText(id []byte) string { return shorten(tuple.Describe(id)) }

// recordError adds type, id and key to a fault of stored bytes.
func recordError(typ, id string, key []byte, err error) error {
	e := &RecordError{Type: typ, ID: id, Key: slices.Clone(key), Remedy: format.RemedyCorrupt}
	var header *format.Error
	if errors.As(err, &header) {
		e.Reason, e.Remedy, e.Err = header.Reason, header.Remedy, header.Err
		return e
	}
	e.Reason, e.Err = "the record cannot be decoded", err
	return e
}

func corrupt(typ string, id, key []byte, reason string, args ...any) error {
	return &RecordError{Type: typ, ID: idText(id), Key: slices.Clone(key), Reason: fmt.Sprintf(reason, args...), Remedy: format.RemedyCorrupt}
}

// readWhole returns a stored record with all its bytes. It reads the chunks behind
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

func (r *record) noIndex(alternatives []erased.Conjunction, reason string) error {
	e := &NoIndexError{Type: r.Type, Reason: reason}
	for _, clauses := range alternatives {
		for _, c := range clauses {
			e.Fields = appendNew(e.Fields, c.Field)
		}
		if e.Tag == "" {
			e.Tag = tagFor(clauses)
		}
	}
	for i := range r.Indexes {
		if r.Indexes[i].Kind == index.Value {
			e.Indexes = append(e.Indexes, r.Indexes[i].Fields)
		}
	}
	return e
}

// firstPlan returns the plan of a search with the first way of each alternative that check
// has no error for, or the first error.
func (r *record) firstPlan(s *erased.Search, check func(*plan) error) (*plan, error) {
	ways := make([]*plan, 0, len(s.Lanes))
	var failed error
	for _, lane := range s.Lanes {
		at := slices.IndexFunc(lane, func(way plan) bool {
			err := check(&way)
			failed = cmp.Or(failed, err)
			return err == nil
		})
		if at < 0 {
			break
		}
		ways = append(ways, &lane[at])
	}
	switch {
	case len(s.Lanes) > 0 && len(ways) == len(s.Lanes):
		return planner.Combine(r.Indexes, s, ways), nil
	case s.Scan != nil:
		return s.Scan, nil
	}
	return nil, failed
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
