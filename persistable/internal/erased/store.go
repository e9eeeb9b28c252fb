// SPDX-License-Identifier: Apache-2.0

package erased

import "context"

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
	// Unique returns the record that has the packed values in the schema's i-th
	// index, which is unique.
	Unique(ctx context.Context, s *Source, i int, values []byte) (record any, err error)
	Aggregates
	Ranks
	Tools
}

// Source is where the operations of a store or a query take place. Its fields
// hold types of package persistable.
type Source struct {
	Place any   // a *place; nil if there is none
	Tx    any   // a *transaction; nil: each operation is a transaction of its own
	Err   error // why the store cannot be used

	AllowScan bool // Find may read all records
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
