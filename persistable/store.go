// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// The compiler compiles the methods of a generic type again for every type of
// record. Those of this package therefore only call functions that are compiled
// once. They are not inlined, so that an instance calls the one body for all
// pointers: a package with twenty types compiles in two thirds of the time.

// Store holds the records of type T, a pointer to an annotated struct, with ids
// of type ID, in one directory. Generated stores embed it. It is immutable and
// safe for concurrent use; making one costs no round trip.
//
// The operations of a store that is bound to a transaction by In belong to that
// transaction. Otherwise each is a transaction of its own and retried until ctx
// ends.
type Store[T, ID any] erased.Store[ID]

// In returns the store bound to a transaction.
//
//go:noinline
func (s *Store[T, ID]) In(tx Tx) Store[T, ID] {
	return Store[T, ID](boundTo((*erased.Store[ID])(s), tx))
}

// Path returns the path of the store's directory, nil if it has none because
// of a wrong argument.
//
//go:noinline
func (s *Store[T, ID]) Path() []string { return sourceOf(s).path() }

// Create writes a new record. If its id is zero, Create makes one before the first
// attempt and sets it; in a transaction it returns [ErrNoID] instead, because the
// transaction's function may run again. If there is a record with the id it returns
// [ErrExists], if another record has the values of a unique index a *[UniqueError],
// for a record of another tenant a *[DirectoryError], for an id that another open
// database has made a *[FieldError] (see [IDOptions]); then nothing is written.
//
// Cost: one round of reads (the record's key and the unique keys, in parallel)
// and the commit.
//
//go:noinline
func (s *Store[T, ID]) Create(ctx context.Context, v T) error {
	return sourceOf(s).create(ctx, untyped(v))
}

// CreateWithID is Create under an id that the caller chooses, for imports and
// restores. It sets v's id, which another database may have made. A zero or empty id is [ErrNoID], and a negative
// idgen.ID a *[FieldError], as for all verbs that write a record.
//
//go:noinline
func (s *Store[T, ID]) CreateWithID(ctx context.Context, id ID, v T) error {
	return createWithID(ctx, sourceOf(s), id, untyped(v))
}

// Save writes a record, in place of the stored one with the same id if there is
// one, and updates its index entries. Fields that this program does not know stay
// as stored. If the stored record has the same bytes, nothing is written, so that
// neither conflicts nor watches come of it. Errors are those of Create without
// ErrExists.
//
// Save overwrites changes that other transactions have made since the caller read
// the record, and a record that they have deleted exists again. To change a stored
// record use [Store.Update], or [Store.SaveExisting] and [Store.SaveIfUnchanged].
//
// Each Save checks the unique values. For two records to exchange theirs in a
// transaction, save one of them with a third value, or null, then the other, and
// then the first again.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) Save(ctx context.Context, v T) error {
	return sourceOf(s).save(ctx, untyped(v))
}

// Update reads the record with that id, calls change with it, and saves it, in one
// transaction: concurrent changes are not lost. If there is no such record, or a
// concurrent transaction deletes it, Update returns [ErrNotFound]. It returns an
// error of change as it is; then nothing is written. If change leaves the record as it
// is, nothing is written either.
//
// change may run again after a conflict, each time with the record as it is then, so
// it must have no effect but on the record. It must not change the id. If the
// acknowledgement of a commit is lost, change runs again on a record that the
// first attempt may have changed already, as in FoundationDB itself: then only a
// change that may be applied twice is safe.
//
// Bound to a transaction by In, Update is a part of that transaction. If several
// goroutines update a record in one transaction, change runs again in those whose
// record another one has changed.
//
// Cost: one round of reads (the record), a second one only if change gives a unique
// index another value, and the commit.
//
//go:noinline
func (s *Store[T, ID]) Update(ctx context.Context, id ID, change func(v T) error) error {
	return update(ctx, (*erased.Store[ID])(s), id, change)
}

// SaveExisting is Save for a record that must exist. If it does not, for example
// because another transaction has deleted it, SaveExisting returns [ErrNotFound] and
// writes nothing.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) SaveExisting(ctx context.Context, v T) error {
	return sourceOf(s).replace(ctx, untyped(v), putOptions{mustExist: true})
}

// SaveIfUnchanged is Save on the condition that the stored record is still the one
// that the caller has seen: was is what Get or a query returned, v the new record
// with the same id. If the stored record differs from was in any field that this
// program knows, SaveIfUnchanged returns [ErrChanged], and if it is gone,
// [ErrNotFound]; then nothing is written. Read the record again and decide anew. Use
// it if a person, or another program, changes a record between reading and
// saving; within one function use [Store.Update].
//
// If the acknowledgement of the commit is lost, a record that is as v when
// SaveIfUnchanged looks again counts as saved by it. If yet another transaction has
// changed the record by then, SaveIfUnchanged returns ErrChanged.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) SaveIfUnchanged(ctx context.Context, was, v T) error {
	return sourceOf(s).saveIfUnchanged(ctx, untyped(was), untyped(v))
}

// Delete removes the record with that id and its index entries. If there is
// none, it does nothing.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) Delete(ctx context.Context, id ID) error {
	return deleteID(ctx, (*erased.Store[ID])(s), id)
}

// Get returns the record with that id, or [ErrNotFound]. Bytes that cannot be
// decoded are a *[RecordError].
//
// Cost: one round of reads.
//
//go:noinline
func (s *Store[T, ID]) Get(ctx context.Context, id ID) (T, error) {
	return get[T](ctx, (*erased.Store[ID])(s), id)
}

// Exists reports whether there is a record with that id. It does not decode it.
//
// Cost: one round of reads.
//
//go:noinline
func (s *Store[T, ID]) Exists(ctx context.Context, id ID) (bool, error) {
	return exists(ctx, (*erased.Store[ID])(s), id)
}

// GetMany returns the records with those ids, in their order, with nil where
// there is none.
//
// Cost: one round of reads, all in parallel.
//
//go:noinline
func (s *Store[T, ID]) GetMany(ctx context.Context, ids ...ID) ([]T, error) {
	return getMany[T](ctx, (*erased.Store[ID])(s), ids)
}

// Scan returns the query of all records in the order of their ids. [ScanRange]
// narrows it to a range of ids.
//
//go:noinline
func (s *Store[T, ID]) Scan() *Query[T] {
	return (*Query[T])((*erased.Store[ID])(s).Scan().Query())
}

// Indexes returns what builds, checks and mends the indexes of the store's directory.
//
//go:noinline
func (s *Store[T, ID]) Indexes() Indexes { return Indexes{sourceOf(s)} }
