// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/oklog/ulid/v2"
)

// Schema is what the run-time must know of a type T with ids of type ID. It is
// written by persistgen, one package-level variable a type, and must not be
// changed once a store uses it.
type Schema[T, ID any] struct {
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
	// tools can show records without the Go code; a store whose header does not
	// agree with it is refused, with a [SchemaError].
	Lock string

	// ID and SetID read and write the id field.
	ID    func(v *T) ID
	SetID func(v *T, id ID)
	// NewID makes an id; nil where the user assigns them.
	NewID func(ctx context.Context) (ID, error)
	// IsZeroID tells whether the id was not set; nil where every value is an id.
	IsZeroID func(id ID) bool
	// AppendID and ReadID convert an id to and from a tuple element.
	AppendID func(b []byte, id ID) []byte
	ReadID   func(b []byte) (id ID, rest []byte, err error)

	// CheckArgs compares the record's {Field}s with the store's arguments and
	// returns the first field that differs and its value. It is nil where the
	// directory has no {Field}.
	CheckArgs func(v *T, args []string) (field, got string, ok bool)

	// Encode appends the record to b. Decode reads it into the zero T.
	Encode func(b []byte, v *T) ([]byte, error)
	Decode func(b []byte, v *T) error
	// Known are the fields that Decode reads; others survive a Save.
	Known *wire.Known

	// Indexes are the indexes; their order is that of Store.Index and Store.Unique.
	Indexes []IndexOf[T]

	once    sync.Once
	erased  *record[T]
	invalid error
}

// PathElement is one element of a type's directory: a name or a {Field}.
type PathElement struct {
	Name  string // a fixed name
	Field string // or the field whose value is the name
	Layer string // the directory's layer; empty for none in particular
}

// IndexOf is an index of a type T.
type IndexOf[T any] struct {
	index.Definition
	// Entries appends the entries that a record has in the index.
	Entries func(e *index.Entries, v *T)
}

// KazahanaID makes ids of [idgen.Default]: a schema's NewID.
func KazahanaID(ctx context.Context) (idgen.ID, error) { return idgen.Default().Next(ctx) }

var (
	ulids idgen.ULIDSource
	uuids idgen.UUIDSource
)

// ULID makes ULIDs: a schema's NewID.
func ULID(ctx context.Context) (ulid.ULID, error) { return ulids.Next(ctx) }

// ULIDString makes ULIDs in text form: a schema's NewID.
func ULIDString(ctx context.Context) (string, error) {
	id, err := ulids.Next(ctx)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// UUID makes UUIDs of version 7: a schema's NewID. U is any [16]byte type.
func UUID[U ~[16]byte](ctx context.Context) (U, error) {
	id, err := uuids.Next(ctx)
	return U(id), err
}

// IsZero reports whether an id is the zero value: a schema's IsZeroID.
func IsZero[ID comparable](id ID) bool {
	var zero ID
	return id == zero
}

// record is a schema without its id type: what queries need.
type record[T any] struct {
	typ         string
	scatter     index.Shards
	lock        *schema.Schema
	definitions []*index.Definition
	indexes     []IndexOf[T]
	decode      func(b []byte, v *T) error
	encode      func(b []byte, v *T) ([]byte, error)
	known       *wire.Known
	checkArgs   func(v *T, args []string) (field, got string, ok bool)
	appendID    func(b []byte, v *T) []byte
	readID      func(b []byte) (any, error)
}

// record returns the schema without its id type, and the schema's faults.
func (s *Schema[T, ID]) record() (*record[T], error) {
	s.once.Do(func() {
		s.invalid = s.Validate()
		s.erased = &record[T]{
			typ: s.Type, scatter: s.Scatter, indexes: s.Indexes,
			decode: s.Decode, encode: s.Encode, known: s.Known, checkArgs: s.CheckArgs,
			appendID: func(b []byte, v *T) []byte { return s.AppendID(b, s.ID(v)) },
			readID:   s.readID,
		}
		if s.invalid == nil {
			s.erased.lock, s.invalid = parseLock(s.Type, s.Lock)
		}
		for i := range s.Indexes {
			s.erased.definitions = append(s.erased.definitions, &s.Indexes[i].Definition)
		}
	})
	return s.erased, s.invalid
}

func (s *Schema[T, ID]) readID(b []byte) (any, error) {
	id, rest, err := s.ReadID(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the id", len(rest))
	}
	return id, err
}

// Validate reports all faults of the schema, joined. Generated schemas have none.
func (s *Schema[T, ID]) Validate() error {
	var faults []error
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, fmt.Errorf("persistable: schema of %q: %s", s.Type, text))
		}
	}
	fault(s.Type == "", "Type is empty")
	fault(len(s.Directory) == 0, "Directory is empty")
	fault(s.Scatter.Validate() != nil, fmt.Sprintf("Scatter is %d, must be 0 or a power of two from 2 to %d", s.Scatter, index.MaxShards))
	fault(s.ID == nil || s.SetID == nil || s.AppendID == nil || s.ReadID == nil, "a function for the id is missing")
	fault(s.NewID != nil && s.IsZeroID == nil, "NewID without IsZeroID")
	fault(s.Encode == nil || s.Decode == nil || s.Known == nil, "Encode, Decode or Known is missing")
	hasFields := slices.ContainsFunc(s.Directory, func(e PathElement) bool { return e.Field != "" })
	fault(hasFields != (s.CheckArgs != nil), "CheckArgs must be there if, and only if, Directory has a {Field}")
	for i, a := range s.Indexes {
		faults = append(faults, a.Validate())
		fault(a.Entries == nil, "the index "+a.Name+" has no Entries")
		for _, b := range s.Indexes[:i] {
			fault(a.KeyName() == b.KeyName(), "two indexes are named "+a.KeyName())
		}
	}
	return errors.Join(faults...)
}
