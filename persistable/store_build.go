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
// Cost: every record is read once. A transaction reads and writes at most about a
// megabyte; each worker holds one in memory. A write conflicts with the build, and is
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
