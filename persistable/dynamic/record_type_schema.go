// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"context"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// newSchema returns the type for the engine, as persistgen writes one. at is where the
// store is.
func (t *recordType) newSchema(db *persistable.DB, at *position) *erased.Schema {
	s := &erased.Schema{
		Type: t.name, Directory: at.elements, Lock: t.catalog.Schema().Text(),
		IDs:    t.newIDs(db),
		ID:     func(v any) any { return &recordOf(v).id },
		Encode: func(b []byte, v any) ([]byte, error) { return recordOf(v).encode(b) },
		Decode: t.decode, Known: t.body.Known(), Values: t.appendValues,
		Dynamic: &erased.Dynamic{Refusal: at.refusal},
	}
	if len(at.args) > 0 {
		s.CheckArgs, s.FillArgs = t.checkArgs, t.fillArgs
	}
	if t.hasVersions() {
		s.Version = func(v any) *[12]byte { return (*[12]byte)(&recordOf(v).version) }
	}
	t.addIndexes(s)
	return s
}

// addIndexes adds the indexes that need no Go code.
func (t *recordType) addIndexes(s *erased.Schema) {
	for _, p := range t.programs {
		s.Indexes = append(s.Indexes, *p.Definition())
		if len(p.Definition().CoverFields) > 0 {
			s.Covers = t.appendCover
		}
	}
	if len(s.Indexes) > 0 {
		s.Dynamic.Entries = t.appendEntries
	}
}

// newIDs returns how ids are made and packed: they are made as the ids of generated code
// are, for kazahana IDs, ULIDs in text form, and ids of 16 bytes.
func (t *recordType) newIDs(db *persistable.DB) *erased.IDs[ID] {
	ids := &erased.IDs[ID]{IsZero: t.isNone, Append: t.appendID, Parse: t.parseID}
	if t.id.Kind() == "id" {
		ids.Fault = kazahanaFault
	}
	if makeKey := keyMaker(db, t.id.Kind()); makeKey != nil {
		ids.New = func(ctx context.Context) (ID, error) {
			key, err := makeKey(ctx)
			return ID{string(key)}, err
		}
	}
	return ids
}

// kazahanaFault is the rule of generated code for kazahana ids.
func kazahanaFault(id ID) string {
	v, _, err := index.ReadInt[idgen.ID]([]byte(id.packed))
	if err != nil {
		return err.Error()
	}
	return erased.NegativeFault(v)
}

var (
	ulids idgen.ULIDSource
	uuids idgen.UUIDSource
)

// keyMaker returns what makes ids of a kind as tuple elements; nil if the program assigns
// them. The schema does not tell UUIDs from ULIDs: a UUID of version 7 is both.
func keyMaker(db *persistable.DB, kind string) func(ctx context.Context) ([]byte, error) {
	switch kind {
	case "id":
		return func(ctx context.Context) ([]byte, error) {
			id, err := db.IDs().Next(ctx)
			return index.AppendInt(nil, id), err
		}
	case "string":
		return func(ctx context.Context) ([]byte, error) {
			id, err := ulids.Next(ctx)
			return index.AppendString(nil, id.String()), err
		}
	case "bytes[16]":
		return func(ctx context.Context) ([]byte, error) {
			id, err := uuids.Next(ctx)
			return index.AppendUUID(nil, id), err
		}
	}
	return nil
}

// decode reads a stored record.
func (t *recordType) decode(b []byte, s *wire.Strings) (any, error) {
	m, err := t.body.Decode(b, s)
	if err != nil {
		return nil, err
	}
	return &Record{typ: t, id: t.idOf(m), body: m}, nil
}

// appendValues appends the value of a field as a tuple element; of a list, each element.
func (t *recordType) appendValues(field string, b []byte, v any) []byte {
	p, err := t.body.Path(field)
	if err != nil {
		return b // conditions are made of fields that there are
	}
	return p.AppendKey(b, recordOf(v).body)
}

// payloads are buffers for encoded records.
var payloads = sync.Pool{New: func() any { return new([]byte) }}

// appendEntries adds the entries of a record in the i-th index. They are computed from its
// bytes.
func (t *recordType) appendEntries(i int, e *index.Entries, v any) error {
	buf := payloads.Get().(*[]byte)
	defer payloads.Put(buf)
	payload, err := recordOf(v).encode((*buf)[:0])
	if err != nil {
		return err
	}
	*buf = payload
	if err := t.programs[i].Entries(payload, e); err != nil {
		return fmt.Errorf("dynamic: the entries of a %s in the index %s: %w", t.name, t.programs[i].Definition().KeyName(), err)
	}
	return nil
}

// appendCover appends what entries in the i-th index copy of a record. The record has
// entries: it can be encoded and read.
func (t *recordType) appendCover(i int, b []byte, v any) []byte {
	payload, err := recordOf(v).encode(nil)
	if err != nil {
		return b
	}
	b, _ = t.programs[i].AppendCover(b, payload)
	return b
}
