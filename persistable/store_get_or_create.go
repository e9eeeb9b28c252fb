// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

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
// record without an id cannot be looked for either: an *[IndexStateError].
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

func getOrCreate[T, ID any](ctx context.Context, store *erased.Store[ID], v T) (stored T, created bool, err error) {
	s, record := newSource(store.Source()), untyped(v)
	if err := s.mayPut(record); err != nil {
		return stored, false, err
	}
	id := s.record.ID(record).(*ID)
	given := *id
	found, err := s.getOrCreate(ctx, record)
	if created = err == nil && found == record; !created {
		*id = given
	}
	if err == nil {
		stored = found.(T)
	}
	return stored, created, err
}
