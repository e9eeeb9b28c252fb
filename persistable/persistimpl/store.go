// SPDX-License-Identifier: Apache-2.0

// Package persistimpl is the base of the code that persistgen writes. Only
// generated code imports it: it changes with the generator, without notice.
// Programs use package persistable.
package persistimpl

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Version6 is named by generated code of the sixth version. A program does not
// compile if its generated code and the run-time do not fit.
const Version6 = 6

type (
	// Schema is what the run-time knows of a type.
	Schema = erased.Schema
	// Hooks call the methods of a record that come before a write.
	Hooks = erased.Hooks
	// PathElement is one element of a type's directory.
	PathElement = erased.PathElement
)

// NewStore returns the store of the schema's records for the directory
// arguments, one per {Field}. T is a pointer to the struct, ID the type of its
// ids.
func NewStore[T, ID any](db *persistable.DB, schema *Schema, args ...string) persistable.Store[T, ID] {
	return persistable.Store[T, ID](erased.NewStore[ID](erased.Runtime.Open(db, schema, args), schema))
}

// DeletionTime returns how the records of a type are deleted by a field of theirs, which has that name in keys.
func DeletionTime(field string, of func(record any) *time.Time) *erased.Deletion {
	return &erased.Deletion{
		Field: field,
		Is:    func(record any) bool { return !of(record).IsZero() },
		Set:   func(record any, at time.Time) { *of(record) = at },
	}
}

// DeletionPointer is DeletionTime for a field that is a pointer.
func DeletionPointer(field string, of func(record any) **time.Time) *erased.Deletion {
	return &erased.Deletion{
		Field: field,
		Is:    func(record any) bool { return *of(record) != nil },
		Set:   func(record any, at time.Time) { *of(record) = &at },
	}
}

// WithDeleted returns the store with the deleted records.
//
//go:noinline
func WithDeleted[T, ID any](s *persistable.Store[T, ID]) persistable.Store[T, ID] {
	next := *s
	Source(&next).WithDeleted = true
	return next
}

// SetID gives a new record its id. record is a pointer to a copy of the literal
// that the program wrote; a literal that has an id panics. An idgen.ID stays zero
// where no generator was installed, where the installed one cannot answer, and
// while databases that make different ids are open: Create makes it. SetID is not
// for types that get their ids from the caller.
func SetID(schema *Schema, record any) { Must(setID(schema, record, nil)) }

// TryNew gives a new record of a store the {Field}s of the store's directory and an id of the
// store's database. record is a pointer to a copy of the literal that the program has. Errors:
// the literal says another directory, which is a *[persistable.DirectoryError], or it has an id,
// which is a *[persistable.FieldError]. A store that cannot be used, because an argument was wrong,
// fills nothing: its operations return the error. TryNew is not for types that get their ids from
// the caller.
//
//go:noinline
func TryNew[T, ID any](s *persistable.Store[T, ID], schema *Schema, record any) error {
	return tryNew(Source(s), schema, record)
}

func tryNew(s *erased.Source, schema *Schema, record any) error {
	if err := fill(schema, erased.Runtime.Args(s), record); err != nil {
		return err
	}
	return setID(schema, record, s)
}

// TryFill is TryNew for types that get their ids from the caller.
//
//go:noinline
func TryFill[T, ID any](s *persistable.Store[T, ID], schema *Schema, record any) error {
	return fill(schema, erased.Runtime.Args(Source(s)), record)
}

// Must panics with err if it is not nil: the fault is one of the program.
//
//go:noinline
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Options returns what a store's In takes to give the transactions of its operations options, over
// those that they have, in place of binding it to a transaction. A generic function for that would be
// compiled again for every type.
func Options(o kv.TransactionOptions) persistable.Tx {
	return erased.Runtime.Options(o).(persistable.Tx)
}

// setID gives a new record an id of the database of a store, or of the only one that
// is open if s is nil.
func setID(schema *Schema, record any, s *erased.Source) error {
	id := schema.ID(record)
	if schema.HasID(record) {
		return &persistable.FieldError{Type: schema.Type, Field: "ID", Reason: fmt.Sprintf(
			"the literal of a new %[1]s has an id already: %[2]v. A new record gets an id of its own: leave the id out. "+
				"For a record with a known id, write &%[1]s{…} and call CreateWithID or Save", goName(record), reflect.ValueOf(id).Elem())}
	}
	if kazahana, ok := id.(*idgen.ID); ok {
		*kazahana = idgen.ID(erased.Runtime.NewID(s))
		return nil
	}
	_ = schema.IDs.Make(context.Background(), id) // where this fails the id stays zero: Create tries again and returns the error
	return nil
}

func fill(schema *Schema, args []string, record any) error {
	if args == nil || schema.FillArgs == nil {
		return nil
	}
	schema.FillArgs(record, args)
	field, got, ok := schema.CheckArgs(record, args)
	if ok {
		return nil
	}
	path, arg := pathOf(schema, args, field)
	return &persistable.DirectoryError{Type: schema.Type, Path: path, Field: field, Reason: fmt.Sprintf(
		"the literal of a new %s has %s %q, but the store's is %q: leave %s out, or use the store of %q", goName(record), field, got, arg, field, got)}
}

// pathOf returns the path of a store's directory, and the argument of a {Field}.
func pathOf(schema *Schema, args []string, field string) (path []string, arg string) {
	for _, element := range schema.Directory {
		name := element.Name
		if element.Field != "" {
			name, args = args[0], args[1:]
		}
		if element.Field == field {
			arg = name
		}
		path = append(path, name)
	}
	return path, arg
}

// goName is the name of a record's struct, with its package.
func goName(record any) string { return fmt.Sprintf("%T", record)[1:] }

// FillString sets a {Field} that is a string to a store's argument, unless it is
// set.
func FillString[S ~string](field *S, arg string) {
	if *field == "" {
		*field = S(arg)
	}
}

// FillInt sets a {Field} that is a signed integer to a store's argument, unless
// it is set. The argument was formatted from a value of the same type.
func FillInt[I ~int | ~int8 | ~int16 | ~int32 | ~int64](field *I, arg string) {
	if n, err := strconv.ParseInt(arg, 10, 64); err == nil && *field == 0 {
		*field = I(n)
	}
}

// FillUint is FillInt for unsigned integers.
func FillUint[U ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](field *U, arg string) {
	if n, err := strconv.ParseUint(arg, 10, 64); err == nil && *field == 0 {
		*field = U(n)
	}
}

// IDs are the functions for ids of type ID.
type IDs[ID any] = erased.IDs[ID]

// The ids that most types have.
var (
	// KazahanaIDs are made by idgen.Default.
	KazahanaIDs = &IDs[idgen.ID]{
		New: NewKazahana, IsZero: IsZero[idgen.ID], Fault: erased.NegativeFault[idgen.ID], Append: AppendInt[idgen.ID], Parse: ReadInt[idgen.ID],
	}
	// ULIDs are made by idgen's source of ULIDs.
	ULIDs = &IDs[ulid.ULID]{
		New: NewULID, IsZero: IsZero[ulid.ULID], Append: AppendUUID[ulid.ULID], Parse: ReadUUID[ulid.ULID],
	}
	// ULIDStrings are ULIDs in text form.
	ULIDStrings = &IDs[string]{
		New: NewULIDString[string], IsZero: IsZero[string], Append: AppendString[string], Parse: ReadString[string],
	}
)

// NewKazahana makes an id of [idgen.Default].
func NewKazahana(ctx context.Context) (idgen.ID, error) { return idgen.Default().Next(ctx) }

var (
	ulids idgen.ULIDSource
	uuids idgen.UUIDSource
)

// NewULID makes a ULID.
func NewULID(ctx context.Context) (ulid.ULID, error) { return ulids.Next(ctx) }

// NewULIDString makes a ULID in text form.
func NewULIDString[S ~string](ctx context.Context) (S, error) {
	id, err := ulids.Next(ctx)
	if err != nil {
		return "", err
	}
	return S(id.String()), nil
}

// NewUUID makes a UUID of version 7. U is any [16]byte type.
func NewUUID[U ~[16]byte](ctx context.Context) (U, error) {
	id, err := uuids.Next(ctx)
	return U(id), err
}

// IsZero reports whether an id is the zero value.
func IsZero[ID comparable](id ID) bool {
	var zero ID
	return id == zero
}
