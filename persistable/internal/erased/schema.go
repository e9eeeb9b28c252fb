// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
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
	// tools can show records without the Go code; a store whose header does not
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

	// Encode appends the record to b. Decode reads it into a new record, whose strings
	// it makes of s.
	Encode func(b []byte, record any) ([]byte, error)
	Decode func(b []byte, s *wire.Strings) (record any, err error)
	// Known are the fields that Decode reads; others survive a Save.
	Known *wire.FieldSet

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

	// Dynamic is nil in generated code.
	Dynamic *Dynamic

	once    sync.Once
	lock    *schema.Schema
	invalid error
}

// PathElement is one element of a type's directory: a name or a {Field}.
type PathElement struct {
	Name  string // a fixed name
	Field string // or the field whose value is the name
	Layer string // the directory's layer; empty for none in particular
}

// Parsed returns what Lock says, or the faults of the schema. One is that the struct has
// fields that are newer than the generated code.
func (s *Schema) Parsed() (*schema.Schema, error) {
	s.once.Do(func() {
		if s.invalid = s.Validate(); s.invalid == nil {
			s.lock, s.invalid = parseLock(s.Type, s.Lock)
		}
		if s.invalid == nil {
			s.invalid = s.checkFields()
		}
	})
	return s.lock, s.invalid
}

// parseLock reads what a generated schema says of its type.
func parseLock(typ, text string) (*schema.Schema, error) {
	s, err := schema.ParseType(text)
	if err == nil && s.Type().Name != typ {
		err = fmt.Errorf("it is of the type %s", s.Type().Name)
	}
	if err != nil {
		return nil, fmt.Errorf("persistable: schema of %q: Lock: %w", typ, err)
	}
	return s, nil
}

// Validate reports all faults of the schema, joined. Generated schemas have none.
func (s *Schema) Validate() error {
	var faults []error
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, fmt.Errorf("persistable: schema of %q: %s", s.Type, text))
		}
	}
	fault(s.Type == "", "Type is empty")
	fault(len(s.Directory) == 0, "Directory is empty")
	fault(s.Scatter.Validate() != nil, fmt.Sprintf("Scatter is %d, must be 0 or a power of two from 2 to %d", s.Scatter, index.MaxShards))
	fault(s.IDs == nil || s.ID == nil, "IDs or ID is missing")
	fault(s.Encode == nil || s.Decode == nil || s.Known == nil, "Encode, Decode or Known is missing")
	hasFields := slices.ContainsFunc(s.Directory, func(e PathElement) bool { return e.Field != "" })
	fault(hasFields != (s.CheckArgs != nil) || hasFields != (s.FillArgs != nil), "CheckArgs and FillArgs must be there if, and only if, Directory has a {Field}")
	fault((len(s.Indexes) > 0) != (s.Entries != nil || s.Dynamic != nil && s.Dynamic.Entries != nil), "Entries must be there if, and only if, there are Indexes")
	covers := slices.ContainsFunc(s.Indexes, func(d index.Definition) bool { return len(d.CoverFields) > 0 })
	fault(covers != (s.Covers != nil), "Covers must be there if, and only if, an index has CoverFields")
	for i := range s.Indexes {
		faults = append(faults, s.Indexes[i].Validate())
		for j := range i {
			fault(s.Indexes[i].KeyName() == s.Indexes[j].KeyName(), "two indexes are named "+s.Indexes[i].KeyName())
		}
	}
	return errors.Join(faults...)
}

// AppendID appends the record's id to b as a tuple element.
func (s *Schema) AppendID(b []byte, record any) []byte { return s.IDs.append(b, s.ID(record)) }

// HasID reports whether the record's id is set.
func (s *Schema) HasID(record any) bool { return !s.IDs.isZero(s.ID(record)) }

// IDFault says why the record's id, which is set, cannot be one, or "".
func (s *Schema) IDFault(record any) string { return s.IDs.fault(s.ID(record)) }
