// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// VerifyWith is [Store.Verify] with options. If it ends early, with an error or with
// the end of ctx, the report says what it has found until then, and its Next is the token
// with which another call goes on, perhaps in another process.
//
// Counts and sums are compared with all records at one version, which can be read for
// five seconds. If that is too short, the report has them among the skipped indexes.
//
// Cost: it reads every record, and every entry, once, and every record once more if the
// type has counts or sums. Each transaction reads at
// most [Options].BuildBatch of them, and about two megabytes of records.
//
//go:noinline
func (s *Store[T, ID]) VerifyWith(ctx context.Context, o VerifyOptions) (Report, error) {
	return sourceOf(s).verify(ctx, o)
}

// Repair is VerifyWith with VerifyOptions.Repair: it mends the entries at fault, and only
// these, while programs read and write. A transaction that mends an entry reads its record
// again, so it never undoes a concurrent write.
//
// Some faults remain, and RebuildIndex mends them: those of counts, sums, and the counts of
// ranks. Others need a decision: records that cannot be decoded, and records that have a unique
// value of another record that has it, too. The report's Faults has all faults,
// Repaired is the number of those that are mended.
//
//go:noinline
func (s *Store[T, ID]) Repair(ctx context.Context) (Report, error) {
	return sourceOf(s).verify(ctx, VerifyOptions{Repair: true})
}
