// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// BuildIndexesWith is [Store.BuildIndexes] with options.
//
// The indexes that this call builds are in the state building meanwhile: every program
// maintains them with its writes, and none reads them. Indexes that are added while a
// build runs are built after it. Any number of processes may call BuildIndexesWith at
// once: they share the work. A call returns when all of it is done, or with ctx's
// error; whatever it has done stays done, also if its process is killed.
//
// Cost: every record is read once. A transaction reads and writes at most about
// 256 kB; each worker holds one batch in memory. A write conflicts with the build, and is
// retried, only if both touch the same record at the same time.
//
//go:noinline
func (s *Store[T, ID]) BuildIndexesWith(ctx context.Context, o BuildOptions) error {
	return sourceOf(s).buildIndexes(ctx, o)
}

// BuildProgress returns how far the build of this store's indexes has come, in
// whatever process it runs.
//
// Cost: one round of reads of at most some hundred keys.
//
//go:noinline
func (s *Store[T, ID]) BuildProgress(ctx context.Context) (BuildProgress, error) {
	return sourceOf(s).buildProgress(ctx)
}

// Violations returns the violations of the unique index with that name, while it
// cannot be completed: behind a token, or the first ones if token is empty. A page has
// at least fifty, unless it is the last one. An index that is readable, or not yet
// built, has none. A wrong name is a *[NoIndexError], a wrong token an [ErrBadToken].
//
// Violations checks each of them again and removes those that are solved from the list,
// in transactions of its own. So the list is exact at the time of the call. Where the
// owner of a value is gone, the first of the other records becomes the owner. When
// none are left BuildIndexes makes the index readable.
//
// Cost: for each fifty violations a range read, two rounds of reads each, and a commit.
//
//go:noinline
func (s *Store[T, ID]) Violations(ctx context.Context, index, token string) (ViolationPage, error) {
	return sourceOf(s).violations(ctx, index, token)
}
