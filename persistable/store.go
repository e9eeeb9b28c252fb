// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

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
// idgen.ID a *[FieldError], as in all methods that write a record.
//
//go:noinline
func (s *Store[T, ID]) CreateWithID(ctx context.Context, id ID, v T) error {
	return createWithID(ctx, sourceOf(s), id, untyped(v))
}

// GetOrCreate creates v, or returns the stored record that has v's id or, if there is
// none, the one that has its values of a unique index. created tells which. If
// several callers do that at once, one of them creates the record and all others get
// it.
//
//	user, created, err := users.GetOrCreate(ctx, &User{Email: "ada@example.com"})
//
// A stored record is returned as it is: GetOrCreate does not compare its other fields
// with those of v. If the unique values of v belong to several records, GetOrCreate
// returns a *[UniqueError]. A record without an id and without a value of a unique
// index cannot be looked for: [ErrNoID]; while a unique index is not complete, a
// record without an id cannot be looked for either: an [ErrNotBuilt].
//
// If v's id is zero, it gets one only if v is created. The hooks of a creation are
// called in both cases, and first, because they may set what GetOrCreate looks for.
// The other rules are those of [Store.Create].
//
// Cost: one round of reads, a second one for a record with the unique values, and
// the commit.
//
//go:noinline
func (s *Store[T, ID]) GetOrCreate(ctx context.Context, v T) (stored T, created bool, err error) {
	return getOrCreate(ctx, (*erased.Store[ID])(s), v)
}

// Save writes a record, in place of the stored one with the same id if there is
// one, and updates its index entries. Fields that this program does not know stay
// as stored. If the stored record has the same bytes, nothing is written, so it
// causes no conflict and wakes no watch. Errors are those of Create without
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
// error of change as it is; then nothing is written, unless the error is also a
// [kv.ErrOutcomeUnknown]. If change leaves the record as it is, nothing is written either, unless
// a field has the option updated.
//
// change may run again after a conflict, each time with the record as it is then, so
// it must have no effect but on the record. It must not change the id. If the
// acknowledgement of a commit is lost, change runs again on a record that the
// first attempt may have changed already, as in FoundationDB itself: then only a
// change that may be applied twice is safe. If change refuses such a record, as one that
// is paid already, the error is a [kv.ErrOutcomeUnknown] as well as that of change.
//
// Bound to a transaction by In, Update is a part of that transaction. If several
// goroutines update a record in one transaction, change runs again where
// another one has changed the record.
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
	return sourceOf(s).replace(ctx, "SaveExisting", untyped(v), putOptions{mustExist: true})
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
// none, it does nothing. If a field of the type has the option deleted, Delete and the other
// deletions set that field, and the record stays: the store takes it for none, and the store of
// WithDeleted has it, of which Delete removes it.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) Delete(ctx context.Context, id ID) error {
	return deleteID(ctx, (*erased.Store[ID])(s), id)
}

// DeleteIfUnchanged is Delete on the condition that the stored record is still the
// one that the caller has seen: was is what Get or a query returned. If the stored
// record differs from was in any field that this program knows, DeleteIfUnchanged
// returns [ErrChanged], and if it is gone, [ErrNotFound]; then nothing is written.
//
// If the acknowledgement of the commit is lost, a record that is gone when
// DeleteIfUnchanged looks again counts as deleted by it.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) DeleteIfUnchanged(ctx context.Context, was T) error {
	return sourceOf(s).deleteIfUnchanged(ctx, untyped(was))
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
func (s *Store[T, ID]) GetMany(ctx context.Context, ids []ID) ([]T, error) {
	return getMany[T](ctx, (*erased.Store[ID])(s), ids)
}

// Scan returns the query of all records in the order of their ids. [ScanRange]
// narrows it to a range of ids.
//
//go:noinline
func (s *Store[T, ID]) Scan() *Query[T] {
	return (*Query[T])((*erased.Store[ID])(s).Scan().Query())
}

// Find returns the query of the records that fulfil all conditions.
//
// It picks the index that leaves the fewest conditions over: one with equality
// for its first fields, and a range for the next one. What is left over filters the
// records in memory, up to [Query.FilterLimit] of them. Two indexes that have equality on
// all of their fields, and together serve more conditions than each alone, are
// intersected: keys of both are read side by side, and only the records in both are
// fetched. Alternatives ([Field.In], [Or]) become lanes, which are read side by side
// and put into one order; a record that is in several lanes comes once.
// A partial index is used if the conditions imply its predicate. Of indexes that
// are equally good it takes the one with the fewest fields, then the first. Each alternative
// takes the best index that is ready, so that one that is being built stops no query.
// A record comes once, also for a range of a slice, with the lowest of its elements in the
// range; such a range looks at each record, so that FilterLimit holds for it. [Query.Explain]
// tells the plan.
//
// The records come in the order of the index after the fields with equality: with all
// fields equal, by id. Lanes of one index with the same fields equal have one order,
// too, and so have lanes that are all ordered by id; any others come one
// after the other, in the order of the alternatives.
//
// If no index serves a condition of an alternative, Find returns an [ErrNoIndex],
// which names the tag that is missing: see [Store.AllowScan]. So it does without a condition, or
// if all are absent: see [Condition].
//
//go:noinline
func (s *Store[T, ID]) Find(conditions ...Condition[T]) (*Query[T], error) {
	return find(sourceOf(s), conditions)
}

// FindOne returns the first record that fulfils all conditions, in the order that
// [Store.Find] says, or [ErrNotFound].
//
//go:noinline
func (s *Store[T, ID]) FindOne(ctx context.Context, conditions ...Condition[T]) (T, error) {
	return findOne(ctx, sourceOf(s), conditions)
}

// AllowScan returns the store with a Find that reads all records, in the order of
// their ids, where no index serves the conditions. The [Query.FilterLimit] of 10,000
// records holds for such a query, too. Without a condition Find returns all records, as
// [Store.Scan] does.
//
//go:noinline
func (s *Store[T, ID]) AllowScan() *Store[T, ID] {
	return (*Store[T, ID])(allowingScan((*erased.Store[ID])(s)))
}

// CreateMany creates the records in the order of the list, in as many transactions as
// they need. Each transaction is a whole or absent; together they are not. If it stops
// before the end, the error is a *[PartialError] that says where. The other rules are
// those of [Store.Create]. Records that are created in an attempt with a lost
// acknowledgement are not created again.
//
// Bound to a transaction by In, CreateMany is a part of that transaction, which must
// not become too large.
//
// The hooks of a record are called when it is taken from the list, some records before
// its transaction: after an error they may have been called for records after Done.
//
// Cost: one round of reads a transaction, one more for each record of several values
// (over 100,000 bytes) that is there already or changes an index of the kind rank, and
// the commits. From the second transaction on, ids and unique values that ascend in the list
// are checked with one range read each; if other records lie between them, that transaction
// takes one more round, and those after it check each key again.
//
//go:noinline
func (s *Store[T, ID]) CreateMany(ctx context.Context, vs []T, o BatchOptions) error {
	return writeAll(ctx, sourceOf(s), untypedAll(vs), o, putOptions{mustBeNew: true})
}

// SaveMany is CreateMany for [Store.Save].
//
//go:noinline
func (s *Store[T, ID]) SaveMany(ctx context.Context, vs []T, o BatchOptions) error {
	return writeAll(ctx, sourceOf(s), untypedAll(vs), o, putOptions{})
}

// CreateFrom is [Store.CreateMany] for the records of a sequence, such as one that reads a
// file: it keeps those of one transaction in memory, so the sequence must yield a new
// record each time. If the sequence yields an error,
// CreateFrom creates the records before it and returns the error in a
// *[PartialError]. It returns how many records it has created:
//
//	n, err := persistable.CreateFrom(ctx, &orders.Store, lines, persistable.BatchOptions{})
//
// It is not a method of the store, so that only a program that uses it compiles it for
// each of its types.
func CreateFrom[T, ID any](ctx context.Context, s *Store[T, ID], vs iter.Seq2[T, error], o BatchOptions) (int, error) {
	return writeMany(ctx, sourceOf(s), vs, o, putOptions{mustBeNew: true})
}

// SaveFrom is [CreateFrom] for [Store.Save]. The sequence may be a query of another
// store:
//
//	n, err := persistable.SaveFrom(ctx, &archive.Store, orders.Scan().All(ctx), persistable.BatchOptions{})
func SaveFrom[T, ID any](ctx context.Context, s *Store[T, ID], vs iter.Seq2[T, error], o BatchOptions) (int, error) {
	return writeMany(ctx, sourceOf(s), vs, o, putOptions{})
}

// SaveExistingFrom is [CreateFrom] for [Store.SaveExisting]: at the first record that does not
// exist it stops, and the *[PartialError] unwraps to [ErrNotFound].
func SaveExistingFrom[T, ID any](ctx context.Context, s *Store[T, ID], vs iter.Seq2[T, error], o BatchOptions) (int, error) {
	return writeMany(ctx, sourceOf(s), vs, o, putOptions{mustExist: true})
}

// DeleteWhere deletes the records that a query of this store returns, in its order,
// and returns how many it has deleted. It takes as many transactions as it needs: a
// record that is created during the call may be left, one that is changed so that it does not
// fit any more is not deleted. If it stops before the end, the error is a
// *[PartialError].
//
//	n, err := orders.DeleteWhere(ctx, orders.ByStatus(Cancelled), persistable.BatchOptions{})
//
// If an acknowledgement is lost, records of that transaction that are gone count as
// deleted by DeleteWhere, though another program may have deleted some of them.
//
// Bound to a transaction by In, DeleteWhere is a part of that transaction, which
// must not become too large, and in which no fitting record can appear unseen.
//
// Cost: the rounds of the query for each transaction, one more round, and the commit.
//
//go:noinline
func (s *Store[T, ID]) DeleteWhere(ctx context.Context, q *Query[T], o BatchOptions) (int, error) {
	return sourceOf(s).deleteWhere(ctx, toQuery(q), o)
}

// DeleteMany deletes the records with these ids, in the order of the list, in as many
// transactions as they need. An id without a record counts as deleted, as for [Store.Delete]. If
// it stops before the end, the error is a *[PartialError]: the records of the first Done ids
// are gone, and another call may go on with ids[e.Done:].
//
// Bound to a transaction by In, DeleteMany is a part of that transaction, which must not
// become too large.
//
// It is not a method of the store, for the reason of [CreateFrom].
//
//	err := persistable.DeleteMany(ctx, &orders.Store, ids, persistable.BatchOptions{})
//
// Cost: one round of reads a transaction, and the commit.
func DeleteMany[T, ID any](ctx context.Context, s *Store[T, ID], ids []ID, o BatchOptions) error {
	return deleteIDs(ctx, (*erased.Store[ID])(s), ids, o)
}

// Watch yields the record with that id as it is, and then as it is after each change
// that Watch sees: nil while there is no such record. Changes in quick succession may
// be seen as one, but the last one is always seen: a change is either in what Watch
// has read, or comes after the version of that read and wakes Watch up. What is
// written over with the same bytes does not count as a change.
//
//	for o, err := range orders.Watch(ctx, id) {
//		if err != nil {
//			return err
//		}
//		if o == nil || o.Status == Shipped {
//			break
//		}
//	}
//
// Watch goes on until the caller stops, or until ctx ends: then it yields the cause.
// It yields any other error, such as a record that cannot be decoded, and stops. It
// survives retryable errors, watches that fire without a change, and the removal of
// the directory. Where the engine has no room for another watch
// ([kv.MaxWatches]), or the directory does not exist yet, Watch reads the record every
// [Options].WatchPoll. The same goes, thirty times as slowly, for a directory that is
// moved. A store that is bound to a transaction cannot watch.
//
// Cost: a watch on the record, one on each of its further values if it is larger than
// 100,000 bytes, and one or two rounds of reads for each change.
//
//go:noinline
func (s *Store[T, ID]) Watch(ctx context.Context, id ID) iter.Seq2[T, error] {
	return watchOf[T](ctx, (*erased.Store[ID])(s), id)
}

// Indexes returns what builds, checks and mends the indexes of the store's directory.
//
//go:noinline
func (s *Store[T, ID]) Indexes() Indexes { return indexesOf((*erased.Store[ID])(s)) }
