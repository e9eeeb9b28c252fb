// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Schema is what the run-time must know of a type of records. It is written by
// persistgen, one package-level variable a type, and must not be changed once a
// store uses it. Its functions take a record as a pointer to the struct.
type Schema struct {
	// Type is the type's name in keys.
	Type string
	// Directory is the path of the records' directory.
	Directory []PathElement
	// Scatter is over how many shards the records of a new directory are
	// scattered by their ids; 0 for not at all. The header of a directory that
	// has records already says how those are, and that is what counts there.
	Scatter index.Shards
	// Lock is what persist.lock says of the type: its fields, with those of nested
	// structs, and its directory. The header of each store holds the same, so that
	// tools can show records without the Go code; a store with a header that does not
	// agree with it is refused, with a persistable.SchemaError.
	Lock string

	// IDs say how ids are made and packed.
	IDs IDKind
	// ID returns a pointer to the record's id field.
	ID func(record any) any

	// CheckArgs compares the record's {Field}s with the store's arguments and
	// returns the first field that differs and its value. It is nil where the
	// directory has no {Field}.
	CheckArgs func(record any, args []string) (field, got string, ok bool)
	// FillArgs sets those {Field}s of the record that are zero to the store's
	// arguments. It is nil where CheckArgs is.
	FillArgs func(record any, args []string)

	// Encode appends the record to b. Decode reads it into a new record. It takes the
	// strings of the record from s.
	Encode func(b []byte, record any) ([]byte, error)
	Decode func(b []byte, s *wire.Strings) (record any, err error)
	// Known are the fields that Decode reads; others survive a Save.
	Known *wire.FieldSet

	// Check returns the first field with a value that breaks its bounds, and how; no reason if
	// there is none. It is nil where no field has bounds.
	Check func(record any) (field, reason string)
	// Stamp calls set with the fields that hold the times of the record's creation and of its last
	// write; nil for a field that there is not. Stamp is nil where there is neither.
	Stamp func(record any, set func(created, updated *time.Time))
	// Deletion is nil where deletions remove records.
	Deletion *Deletion
	// Hooks call methods of the record before it is written.
	Hooks Hooks

	// Version returns a pointer to the record's field of type persistable.Version. It is
	// nil if the type does not have one with a name.
	Version func(record any) *[12]byte

	// Indexes are the indexes. Entries appends the entries that a record has in
	// the i-th of them.
	Indexes []index.Definition
	Entries func(i int, e *index.Entries, record any)
	// Covers appends to b the chosen fields that an entry of the i-th index copies: a
	// message with the numbers that the fields have in the record. It is nil where no
	// index has CoverFields.
	Covers func(i int, b []byte, record any) []byte

	// Values appends the value of a field to b as a tuple element; of a slice, each
	// element. It is nil for types without fields for conditions: then no query
	// looks at records to leave some out.
	Values func(field string, b []byte, record any) []byte

	// Relations are nil of types without references; see [Refer].
	Relations *Relations

	// Dynamic is nil in generated code.
	Dynamic *Dynamic

	once    sync.Once
	lock    *schema.Schema
	invalid error
}

// Deletion is the field of a type that says when a record was deleted. Its functions take a record as a
// pointer to the struct.
type Deletion struct {
	Field string                         // its name in keys
	Is    func(record any) bool          // whether the record is deleted
	Set   func(record any, at time.Time) // deletes it
}

// Present returns the comparisons in the conditions of indexes that hold of the records which are not
// deleted. Two programs differ in them if a change has made the field a pointer.
func (d *Deletion) Present() []string { return []string{d.Field + "=null", d.Field + "=zero"} }

// IsLeftOut reports whether deleted records have no entries in an index.
func (d *Deletion) IsLeftOut(of *index.Definition) bool {
	return slices.ContainsFunc(strings.Split(of.Where, " and "), func(c string) bool { return slices.Contains(d.Present(), c) })
}

// PathElement is one element of a type's directory: a name or a {Field}.
type PathElement struct {
	Name  string // a fixed name
	Field string // or the field that has the name as its value
	Layer string // the directory's layer; empty for none in particular
}

// AppendID appends the record's id to b as a tuple element.
func (s *Schema) AppendID(b []byte, record any) []byte { return s.IDs.append(b, s.ID(record)) }

// HasID reports whether the record's id is set.
func (s *Schema) HasID(record any) bool { return !s.IDs.isZero(s.ID(record)) }

// IDFault says why the record's id, which is set, cannot be one, or "".
func (s *Schema) IDFault(record any) string { return s.IDs.fault(s.ID(record)) }

func (s *Schema) relations() *Relations {
	if s.Relations == nil {
		s.Relations = &Relations{}
	}
	return s.Relations
}

// IDKind is a way to make, recognize and pack ids: an *IDs of their type. Its
// methods take a pointer to an id.
type IDKind interface {
	append(b []byte, id any) []byte
	isZero(id any) bool
	fault(id any) string

	// Made reports whether ids are made at all.
	Made() bool
	// Make makes an id and sets it.
	Make(ctx context.Context, id any) error
	// Read returns the id in a whole tuple element.
	Read(element []byte) (id any, err error)

	// isSet reports whether a tuple element is an id that was set.
	isSet(element []byte) bool
}

// IDs are the functions for ids of type ID.
type IDs[ID any] struct {
	// New makes an id; nil where the user assigns them.
	New func(ctx context.Context) (ID, error)
	// IsZero tells whether the id was not set; nil where every value is an id.
	IsZero func(id ID) bool
	// Fault says why an id that was set cannot be one, or ""; nil where each can.
	Fault func(id ID) string
	// Append and Parse convert an id to and from a tuple element.
	Append func(b []byte, id ID) []byte
	Parse  func(b []byte) (id ID, rest []byte, err error)
}

func (k *IDs[ID]) append(b []byte, id any) []byte { return k.Append(b, *id.(*ID)) }

func (k *IDs[ID]) isZero(id any) bool { return k.IsZero != nil && k.IsZero(*id.(*ID)) }

func (k *IDs[ID]) fault(id any) string {
	if k.Fault == nil {
		return ""
	}
	return k.Fault(*id.(*ID))
}

// Made implements [IDKind].
func (k *IDs[ID]) Made() bool { return k.New != nil }

// Make implements [IDKind].
func (k *IDs[ID]) Make(ctx context.Context, id any) error {
	made, err := k.New(ctx)
	if err == nil {
		*id.(*ID) = made
	}
	return err
}

// Read implements [IDKind].
func (k *IDs[ID]) Read(element []byte) (any, error) {
	id, rest, err := k.Parse(element)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the id", len(rest))
	}
	return id, err
}

func (k *IDs[ID]) isSet(element []byte) bool {
	id, _, err := k.Parse(element)
	return err == nil && !k.isZero(&id)
}

// NegativeFault is [IDs].Fault of kazahana ids: their text forms take no negative ones.
func NegativeFault[ID ~int64](id ID) string {
	if id < 0 {
		return fmt.Sprintf("it is %d: a kazahana id is never negative", int64(id))
	}
	return ""
}

// Hooks call the record's methods of the same names. Each is nil if the type does not
// have the method. record is a pointer to the struct, tx a persistable.Tx.
type Hooks struct {
	BeforeCreate func(record any) error
	BeforeSave   func(record any) error
	Validate     func(record any) error

	// These are in place of the ones above for methods that take the context and the transaction.
	BeforeCreateIn func(ctx context.Context, tx, record any) error
	BeforeSaveIn   func(ctx context.Context, tx, record any) error
	ValidateIn     func(ctx context.Context, tx, record any) error

	BeforeDelete func(ctx context.Context, tx, record any) error
	AfterCommit  func(ctx context.Context, record any)
}

// InTransaction reports whether the methods that come before a write take its transaction, so
// that they are called in it.
func (h *Hooks) InTransaction() bool {
	return h.BeforeCreateIn != nil || h.BeforeSaveIn != nil || h.ValidateIn != nil
}

// Dynamic is what a schema has that was made of a store's header, without the Go code of
// the type. Such a store is never created: its header is there first.
type Dynamic struct {
	// Refusal is why nothing may be written; nil where writes are allowed.
	Refusal error
	// Prefix is that of the only directory which the store may be in; nil: that at the path.
	Prefix []byte
	// Entries is Schema.Entries, which is nil. It returns an error for a record that cannot
	// be encoded, or is not as the header says.
	Entries func(i int, e *index.Entries, record any) error
}

// AppendEntries adds the entries that a record has in the i-th index.
func (s *Schema) AppendEntries(i int, e *index.Entries, record any) error {
	if s.Dynamic != nil {
		return s.Dynamic.Entries(i, e, record)
	}
	s.Entries(i, e, record)
	return nil
}

// Source is where the operations of a store or a query take place. Its fields
// hold types of package persistable.
type Source struct {
	Place any   // a *place; nil if there is none
	DB    any   // a *DB for the source's own transactions; nil: that of the place
	Tx    any   // a *transaction; nil: each operation is a transaction of its own
	Err   error // why the store cannot be used

	AllowScan   bool // Find may read all records
	WithDeleted bool // deleted records are there
}

// Store is a store with ids of type ID.
type Store[ID any] struct {
	_      [0]func() // stores have no ==, for which the compiler writes a function a type
	source Source
	ids    *IDs[ID]
	schema *Schema
}

// NewStore returns the store of a source. The schema's ids are of type ID.
func NewStore[ID any](source Source, schema *Schema) Store[ID] {
	ids, _ := schema.IDs.(*IDs[ID])
	return Store[ID]{source: source, ids: ids, schema: schema}
}

// Source returns where the store's operations take place.
func (s *Store[ID]) Source() *Source { return &s.source }

// Schema returns the schema of the store's type, nil of the zero store.
func (s *Store[ID]) Schema() *Schema { return s.schema }

// AppendID appends an id to b as a tuple element.
func (s *Store[ID]) AppendID(b []byte, id ID) []byte {
	if s.ids == nil {
		return b // the zero store, which has no place either
	}
	return s.ids.Append(b, id)
}

// Scan returns the range of all records in the order of their ids.
func (s *Store[ID]) Scan() *Range[ID] {
	r := &Range[ID]{query: Query{QuerySpec{Source: s.source, Plan: Plan{Index: ByID}}}}
	if s.ids != nil {
		r.encode = s.ids.Append
	}
	return r
}

// Runtime is what package persistable does for persistimpl, which cannot reach
// what it does not export. It is set when persistable is initialized.
var Runtime interface {
	// Open returns the source of the schema's records in db, a *persistable.DB,
	// for the directory arguments.
	Open(db any, schema *Schema, args []string) Source
	// Args returns the directory arguments of a source.
	Args(s *Source) []string
	// NewID makes an idgen.ID of the database of a source or, for nil, of the only one that
	// is open; it returns 0 where none can be made.
	NewID(s *Source) int64
	// Options returns a persistable.Tx that gives a store options and binds it to no transaction.
	Options(o kv.TransactionOptions) any
	// Unique returns the record that has the packed values in the schema's i-th
	// index, which is unique.
	Unique(ctx context.Context, s *Source, i int, values []byte) (record any, err error)
	// Referred returns the records to which the i-th reference of the schema leads from those in
	// list, each once; nil for one that does not exist.
	Referred(ctx context.Context, s *Source, i int, list []any) ([]any, error)
	Aggregates
	Ranks
	Tools
}

// Aggregates are the reads of indexes that say something of many records at once.
// Groups are packed values.
type Aggregates interface {
	// Count returns the number of records in a group of the schema's i-th index.
	Count(ctx context.Context, s *Source, i int, group []byte) (int64, error)
	// Sum returns the sum of a group of the schema's i-th index.
	Sum(ctx context.Context, s *Source, i int, group []byte) (index.Amount, error)
	// Groups returns all groups of the schema's i-th index.
	Groups(ctx context.Context, s *Source, i int) ([]Group, error)
	// Overflow returns the error of a sum of the schema's i-th index that does not fit
	// into 64 bits.
	Overflow(s *Source, i int, sum index.Amount) error
	// Extreme returns the least or the greatest value after those of group in the
	// schema's i-th index, as a tuple element; nil if there is none.
	Extreme(ctx context.Context, s *Source, i int, group []byte, greatest bool) ([]byte, error)
	// Damaged returns the error of a key of the schema's i-th index that cannot be read.
	Damaged(s *Source, i int, key []byte, err error) error
}

// Group is a group of an index: its packed values and its stored value.
type Group struct {
	Values, Value []byte
}

// Ranks answers from the schema's i-th index, which is one of ranks. The packed group is
// that of the records that are asked for.
type Ranks interface {
	// RankOf returns how many entries of the group come before the packed score.
	RankOf(ctx context.Context, s *Source, i int, group, score []byte) (int64, error)
	// Nth returns the record of the group that has n records before it.
	Nth(ctx context.Context, s *Source, i int, group []byte, n int64) (record any, err error)
	// Percentile returns the record of the group at a percentile.
	Percentile(ctx context.Context, s *Source, i int, group []byte, p float64) (record any, err error)
}

// Entry is a key that a store has because of a record.
type Entry struct {
	Index string      // the name of the index in keys; "" for the record itself
	Kind  string      // of the index
	Key   []byte      // as the engine has it
	Tuple tuple.Tuple // the key within its directory; descending values as they were before index.Descend
	Value []byte      // nil if the key is missing
}

// Tools is what the run-time does for stores without the Go code of their types.
type Tools interface {
	// Entries returns the keys of the record with that packed id, and those that it has in
	// all maintained indexes.
	Entries(ctx context.Context, s *Source, id []byte) ([]Entry, error)
	// Drop removes the index with that name in keys from the header, and all its entries.
	Drop(ctx context.Context, s *Source, keyName string) error
}
