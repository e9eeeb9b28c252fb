// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// CreateMany creates the records in the order of the list, in as many transactions as
// they need. Each transaction is a whole or absent; together they are not. If it stops
// before the end, the error is a *[PartialError] that says where. The other rules are
// those of [Store.Create]. Records that are created in an attempt whose
// acknowledgement is lost are not created again.
//
// Bound to a transaction by In, CreateMany is a part of that transaction, which must
// not become too large.
//
// The hooks of a record are called when it is taken from the list, some records before
// its transaction: after an error they may have been called for records behind Done.
//
// Cost: one round of reads a transaction, one more for each record of several values
// (over 100,000 bytes) that is there already or changes an index of the kind rank, and
// the commits.
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
// record that is created meanwhile may be left, one that is changed so that it does not
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
