// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// The methods of the generic types in this package only call what is compiled
// once, because the compiler compiles them again for every type of record. They
// are not inlined: where a method of an instance calls the one body for all
// pointers instead of holding a copy, a package with twenty types compiles in
// two thirds of the time.

// Store holds the records of type T, a pointer to an annotated struct, with ids
// of type ID in one directory. Generated stores embed it. It is immutable and
// safe for concurrent use; making one costs no round trip.
//
// Bound to a transaction by In, its operations belong to that transaction;
// otherwise each is a transaction of its own and retried until ctx ends.
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

// Create writes a new record. If its id is zero, one is made and set before the
// first attempt; in a transaction that is refused with [ErrNoID], because the
// transaction's function may run again. A record with the same id is an
// [ErrExists], values of a unique index that another record has are a
// *[UniqueError], a record of another tenant is a *[DirectoryError]; then
// nothing is written.
//
// Cost: one round of reads (the record's key and the unique keys, in parallel)
// and the commit.
//
//go:noinline
func (s *Store[T, ID]) Create(ctx context.Context, v T) error {
	return sourceOf(s).create(ctx, untyped(v))
}

// CreateWithID is Create under an id that the caller chooses, for imports and
// restores. It sets v's id.
//
//go:noinline
func (s *Store[T, ID]) CreateWithID(ctx context.Context, id ID, v T) error {
	return createWithID(ctx, sourceOf(s), id, untyped(v))
}

// Save writes a record, over a stored one with the same id if there is one. Its
// index entries are brought from what the stored form has to what v has. Fields
// that this program does not know stay as stored. Errors are those of Create
// but for ErrExists.
//
// Save does not ask what the caller has read: it writes over what others have
// saved since, and a record that others have deleted since is there again. To
// change what is stored use [Store.Update], or [Store.SaveExisting] and
// [Store.SaveIfUnchanged].
//
// Unique values are checked with each Save. Two records of one transaction that
// are to exchange theirs need a third value, or null, for one of them first:
// save it, then the other, and then the first again.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) Save(ctx context.Context, v T) error {
	return sourceOf(s).save(ctx, untyped(v))
}

// Update reads the record with that id, lets change change it, and saves it, in
// one transaction: no change that others make in between is lost. If there is
// no such record it returns [ErrNotFound]; one that others delete meanwhile is
// not written again. An error of change is returned, and nothing is written.
//
// change may run again after a conflict, each time with the record as it is
// then, so it must have no effect but on the record. It must not change the id.
// If the acknowledgement of the commit is lost, change is applied to what the
// first attempt may have written already, as in FoundationDB itself: only a
// change that may be applied twice is safe then.
//
// Bound to a transaction by In, it is a part of that.
//
// Cost: two rounds of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) Update(ctx context.Context, id ID, change func(v T) error) error {
	return update(ctx, (*erased.Store[ID])(s), id, change)
}

// SaveExisting is Save for a record that must be there: if it is not, for
// example because others have deleted it, it returns [ErrNotFound] and writes
// nothing.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) SaveExisting(ctx context.Context, v T) error {
	return sourceOf(s).replace(ctx, untyped(v), putOptions{mustExist: true})
}

// SaveIfUnchanged is Save if the stored record still is as the caller has seen
// it: was is what Get or a query returned, v what is to be stored under the same
// id. If the record differs from was in any field that this program knows, it
// returns [ErrChanged], and if it is gone, [ErrNotFound]; then nothing is
// written. Read the record again and decide anew. It serves where a person, or
// another program, changes a record between reading and saving; within one
// function use [Store.Update].
//
// If the acknowledgement of the commit is lost, it may return ErrChanged for its
// own change.
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

// Find returns the query of the records that fulfil all conditions. It picks
// the index whose first fields are those with equality, in any order, and whose
// next field is the one with a range, if there is one: a unique index first,
// then the one with the fewest fields. Where none fits it returns a
// *[NoIndexError]: no query reads records to throw them away.
//
//go:noinline
func (s *Store[T, ID]) Find(conditions ...Condition[T]) (*Query[T], error) {
	return find(sourceOf(s), conditions)
}

// FindOne returns the first record that fulfils all conditions, in the order of
// the index that [Store.Find] picks, or [ErrNotFound].
//
//go:noinline
func (s *Store[T, ID]) FindOne(ctx context.Context, conditions ...Condition[T]) (T, error) {
	return findOne(ctx, sourceOf(s), conditions)
}

// Scan returns the query of all records in the order of their ids. [ScanRange]
// narrows it to a range of ids.
//
//go:noinline
func (s *Store[T, ID]) Scan() *Query[T] {
	return (*Query[T])((*erased.Store[ID])(s).Scan().Query())
}

// BuildIndexes completes the indexes that are not readable in this store's
// directory: those added to the type since the first record was written there.
// It runs beside readers and writers, in many small transactions, and may be
// interrupted: run again, by whatever process, it goes on where it stopped.
// Records that share values of a unique index are reported, all at the end, by
// a *[NotUniqueError]. Where nothing is to be built it does nothing.
//
//go:noinline
func (s *Store[T, ID]) BuildIndexes(ctx context.Context) error {
	return sourceOf(s).buildIndexes(ctx)
}

// RebuildIndex throws the entries of the index with that name away and builds
// it again: the remedy for what Verify finds.
//
//go:noinline
func (s *Store[T, ID]) RebuildIndex(ctx context.Context, name string) error {
	return sourceOf(s).rebuildIndex(ctx, name)
}

// RemoveUnusedIndexes clears the entries of indexes that the type no longer
// has. Do it when no older program writes any more.
//
//go:noinline
func (s *Store[T, ID]) RemoveUnusedIndexes(ctx context.Context) error {
	return sourceOf(s).removeUnusedIndexes(ctx)
}

// Verify compares every record with its entries in all readable indexes, and
// every entry with its record. It changes nothing, runs beside readers and
// writers, and takes as many transactions as it needs: an entry and its record
// are compared within one. RebuildIndex repairs entries.
//
//go:noinline
func (s *Store[T, ID]) Verify(ctx context.Context) (Report, error) {
	return sourceOf(s).verify(ctx)
}
