// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/where"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// Store is a store that was opened by its header. It has the methods of
// [persistable.Store]: Get, Create, Save, Update, Delete, Scan, Find, Indexes and others.
// It is immutable and safe for concurrent use.
type Store struct {
	persistable.Store[*Record, ID]

	typ    *recordType
	schema *erased.Schema
	args   []string // the values of the directory's {Field}s
	prefix []byte   // of the directory when it was opened
}

// In returns the store bound to a transaction.
func (s *Store) In(tx persistable.Tx) *Store {
	return &Store{s.Store.In(tx), s.typ, s.schema, s.args, s.prefix}
}

// WithDeleted returns the store with the deleted records, if a field of the type has the option deleted: it reads
// them, restores one by a write that sets the field to zero or null, and its Delete removes records for good.
func (s *Store) WithDeleted() *Store {
	next := *s
	next.source().WithDeleted = true
	return &next
}

// IsDeleted reports whether a record, which a store of [Store.WithDeleted] has returned, is deleted.
func (s *Store) IsDeleted(r *Record) bool { return s.schema.Deletion != nil && s.schema.Deletion.Is(r) }

// Schema returns what the header said when the store was opened.
func (s *Store) Schema() *Schema { return newSchema(s.typ, s.schema) }

// ParseID returns the id that [ID.String] has as that text. Ids of 16 bytes may also be
// written as ULIDs.
func (s *Store) ParseID(text string) (ID, error) {
	key, err := s.typ.id.ParseKey(text)
	if err != nil {
		return ID{}, fmt.Errorf("dynamic: no id of a %s: %w", s.typ.name, err)
	}
	return ID{string(key)}, nil
}

// Feed returns what follows the changes of the store. Its methods return a
// [persistable.ErrNoVersions] if the records have no versions.
func (s *Store) Feed() *persistable.Feed[*Record, ID] { return persistable.FeedOf(&s.Store) }

// Open opens the store of a type in the directory at the path by what its header says. typ
// may be empty if the directory has one type only; if it has several, the error is an
// [ErrSeveralTypes]. If there is no such store, the error is [persistable.ErrNotFound], which names the
// types that the directory has, if it exists; a header that cannot be read is a [*persistable.RecordError].
//
// If another program changes the header later, the store goes on as a program with the
// older schema does: it maintains the indexes that the header has then, and keeps fields
// that it does not know. Open it again to see them.
//
// Cost: a transaction with two rounds of reads, and one for each type in the directory.
func Open(ctx context.Context, db *persistable.DB, path []string, typ string) (*Store, error) {
	var d *directory.Directory
	var found []headers.Header
	err := db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		//persistvet:ignore txescape the store follows the path again in each transaction
		d, found, err = headers.ReadAt(ctx, tx, db.Layer(), path)
		return err
	})
	if errors.Is(err, directory.ErrNotFound) {
		err = fmt.Errorf("%w: %w", persistable.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	h, err := choose(found, path, typ)
	if err != nil {
		return nil, err
	}
	return newStore(db, d, h)
}

// Reopen opens the store again, perhaps in another DB on the same database, in the directory that
// it was opened in: if another directory has been put at the path since, Reopen and all operations
// of the new store return an error that is [persistable.ErrNotFound]. A program that has shown what
// it will remove, and asked, removes nothing else so.
//
// Cost: as for [Open].
func (s *Store) Reopen(ctx context.Context, db *persistable.DB) (*Store, error) {
	again, err := Open(ctx, db, s.Path(), s.typ.name)
	if err != nil {
		return nil, err
	}
	again.source().WithDeleted = s.source().WithDeleted
	if again.schema.Dynamic.Prefix = s.prefix; !bytes.Equal(again.prefix, s.prefix) {
		return nil, fmt.Errorf("%w: the store of %s in the directory %q: another directory has been put there since it was opened", persistable.ErrNotFound, s.typ.name, strings.Join(s.Path(), "/"))
	}
	return again, nil
}

// choose returns the header of a type, or the only one.
func choose(found []headers.Header, path []string, typ string) (h headers.Header, err error) {
	types := headers.Types(found)
	i := slices.Index(types, typ)
	if typ == "" && len(found) == 1 {
		i = 0
	}
	switch {
	case i >= 0:
		return found[i], nil
	case typ == "" && len(found) > 1:
		return h, sentinel.Mark(ErrSeveralTypes, &headers.ChoiceError{Path: slices.Clone(path), Types: types})
	}
	return h, sentinel.Mark(persistable.ErrNotFound, &headers.ChoiceError{Path: slices.Clone(path), Type: typ, Types: types, None: true})
}

// newStore returns the store that a header describes.
func newStore(db *persistable.DB, d *directory.Directory, h headers.Header) (*Store, error) {
	c, err := format.DecodeCatalog(h.Value)
	if err != nil {
		return nil, newHeaderError(d, h, err)
	}
	if name := c.Schema().Type().Name; name != h.Type {
		return nil, newHeaderError(d, h, fmt.Errorf("it is of the type %s", name))
	}
	typ, err := newRecordType(c)
	if err != nil {
		return nil, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return nil, err
	}
	at := typ.locate(d)
	schema := typ.newSchema(db, at)
	source := erased.Runtime.Open(db, schema, at.args)
	if source.Err != nil {
		return nil, source.Err
	}
	return &Store{persistable.Store[*Record, ID](erased.NewStore[ID](source, schema)), typ, schema, at.args, prefix}, nil
}

// newHeaderError is the error of a header that cannot be read.
func newHeaderError(d *directory.Directory, h headers.Header, err error) error {
	prefix, _ := d.Prefix() // it has one: the header was read with it
	e := &persistable.RecordError{Type: h.Type, Key: append(prefix, headers.Key(h.Type)...), Reason: "the header cannot be read", Err: err, Remedy: format.RemedyCorrupt}
	var fault *format.Error
	if errors.As(err, &fault) {
		e.Reason, e.Remedy, e.Err = fault.Reason, fault.Remedy, fault.Err
	}
	return e
}

// Entry is a key that a store has because of a record.
type Entry struct {
	Index string      // the name of the index in keys; "" for the record itself and its chunks
	Kind  string      // of the index, as in [Index]
	Key   []byte      // as the engine has it
	Tuple tuple.Tuple // the key within its directory; values of descending fields in their ascending form
	Value []byte      // nil if the key is missing, which is damage unless a build is under way
}

// Entries returns the keys of the record with that id: its own, then those that it must
// have in each index that is maintained, including those of groups (counts, sums), which have
// values for all records of the group; of an index of versions the record's version and its entry. If
// there is no such record the error is [persistable.ErrNotFound].
//
// Cost: one round of reads for the record, and one for each index.
func (s *Store) Entries(ctx context.Context, id ID) ([]Entry, error) {
	all, err := erased.Runtime.Entries(ctx, s.source(), s.typ.appendID(nil, id))
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(all))
	for i, e := range all {
		entries[i] = Entry(e)
	}
	return entries, nil
}

// Drop removes the index that has a name in keys, which is its [Index].KeyName: its
// definition from the header, and all its entries. Programs with the index in their code do not
// maintain it any more, and cannot read it until one of them builds it again. Also an index
// that needs the type's Go code can be dropped. If there is none of that name, the error is a
// [persistable.ErrNoIndex]. If the outcome of a drop was unknown and the index is
// gone, Drop succeeds.
func (s *Store) Drop(ctx context.Context, keyName string) error {
	return erased.Runtime.Drop(ctx, s.source(), keyName)
}

// source returns where the store's operations take place.
func (s *Store) source() *erased.Source { return (*erased.Store[ID])(&s.Store).Source() }

// ByIndex returns the records in the order of an index, those of which the first fields
// have the given values, as text. The name is the index's name in keys, [Index].KeyName.
// null is the null of a field that may be null; a text of such a field may be written in
// double quotes, as in Go. Records that have no entry in the index do not come; a record
// with several, in an index on a list, comes once for each.
//
// An index that has no entries for single records, as a count has not, is an error, and so
// is one that needs the type's Go code.
func (s *Store) ByIndex(name string, values ...string) (*persistable.Query[*Record], error) {
	i, err := s.typ.findIndex(name)
	if err != nil {
		return nil, err
	}
	equal, err := s.typ.packValues(s.typ.programs[i].Definition(), values)
	if err != nil {
		return nil, err
	}
	return (*persistable.Query[*Record])(erased.NewIndexQuery(s.source(), i, equal)), nil
}

// Where returns a condition for Find, such as
//
//	Status = 1 and (Country in ("DE", "FR") or CreatedAt >= 2026-01-01T00:00:00Z)
//
// with the operators = != < <= > >=, in, and prefix (Number prefix "A-"), with and, or and parentheses. The fields are
// those of the schema, also nested ones (Address.City); values are written as in JSON, and
// those that are no texts without quotes, too. Of a list an element must fulfil the
// comparison. null is compared by = and != only: as in the conditions of tags, it fulfils
// no other comparison. What cannot be is an [ErrWhere].
//
// Find serves the condition by indexes, as [persistable.Store.Find] says; a condition that
// no index serves needs a store of AllowScan.
func (s *Store) Where(text string) (persistable.Condition[*Record], error) {
	e, err := where.Parse(text)
	var c erased.Condition
	if err == nil {
		c, err = s.typ.newCondition(e)
	}
	if err != nil {
		return persistable.Condition[*Record]{}, sentinel.Mark(ErrWhere, fmt.Errorf("dynamic: the condition %s on %s: %w", excerpt(text), s.typ.name, err))
	}
	return persistable.Condition[*Record](c), nil
}

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

// newValueError returns the error of a text that is not a record.
func newValueError(typ string, err error) error {
	var fault *message.Error
	if !errors.As(err, &fault) {
		return err
	}
	return &ValueError{Type: typ, Member: fault.Path, Line: fault.Line, Reason: fault.Reason}
}

// ID is the id of a record, of whatever kind the ids of its type have. IDs are
// comparable by ==; the zero ID is none. [Store.ParseID] makes one of text.
type ID struct{ packed string } // a tuple element

// IsZero reports whether the id is none.
func (id ID) IsZero() bool { return id.packed == "" }

// String returns the id as text: integers in decimal, texts as they are, ids of 16 bytes
// as UUIDs, other bytes in base64. [Store.ParseID] is its inverse.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	t, err := tuple.Unpack([]byte(id.packed))
	if err != nil || len(t) != 1 {
		return fmt.Sprintf("%x", id.packed)
	}
	switch v := t[0].(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	}
	return fmt.Sprint(t[0])
}

// MarshalText implements [encoding.TextMarshaler]: it returns what String does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Value returns the id as an element of a tuple: an int64 or uint64, string, []byte,
// bool, float32, float64 or [tuple.UUID]; nil for the zero ID.
func (id ID) Value() any {
	if t, err := tuple.Unpack([]byte(id.packed)); err == nil && len(t) == 1 {
		return t[0]
	}
	return nil
}
