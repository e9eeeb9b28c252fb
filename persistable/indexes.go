// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// Indexes builds, checks and mends the indexes of a store's directory. [Store.Indexes]
// returns it. Its operations run in as many transactions of their own as they need, beside
// readers and writers; on a store that is bound to a transaction they fail.
type Indexes struct{ source source }

// Build completes the indexes that are not readable in this store's
// directory: those added to the type since the first record was written there.
// It runs beside readers and writers, in many small transactions. After an
// interruption another call, in any process, goes on where it stopped. At the end it
// returns a *[NotUniqueError] if records share values of a unique index. Until then a new
// record can have the value of one that the build has not come to. It does
// nothing if all indexes are readable. [Indexes.BuildWith] has options.
func (x Indexes) Build(ctx context.Context) error {
	return x.source.buildIndexes(ctx, BuildOptions{})
}

// BuildWith is [Indexes.Build] with options.
//
// The indexes that this call builds are in the state building meanwhile: every program
// maintains them with its writes, and none reads them. Indexes that are added while a
// build runs are built after it. Any number of processes may call BuildWith at
// once: they share the work. A call returns when all of it is done, or with ctx's
// error; whatever it has done stays done, also if its process is killed.
//
// Cost: every record is read once. A transaction reads and writes at most about a
// megabyte; each worker holds one in memory. A write conflicts with the build, and is
// retried, only if both touch the same record at the same time.
func (x Indexes) BuildWith(ctx context.Context, o BuildOptions) error {
	return x.source.buildIndexes(ctx, o)
}

// Progress returns how far the build of this store's indexes has come, in
// whatever process it runs.
//
// Cost: one round of reads of at most some hundred keys.
func (x Indexes) Progress(ctx context.Context) (BuildProgress, error) {
	return x.source.buildProgress(ctx)
}

// Rebuild makes the entries of the index with that name in keys anew. It removes them and
// builds the index again; a unique index that is readable it mends entry by entry, as
// Repair does, so that it stays readable and unique, unless records share a value by then:
// those end in a *[NotUniqueError].
// The name in keys is [index.Definition.KeyName]: it ends in _unique for a unique index, and
// [Violation], [Fault], [IndexStateError] and "kazahana index list" show it. It mends all faults of entries that Verify finds.
func (x Indexes) Rebuild(ctx context.Context, name string) error {
	return x.source.rebuildIndex(ctx, name, BuildOptions{})
}

// RebuildWith is [Indexes.Rebuild] with options. It builds the other indexes that are not
// readable as well.
func (x Indexes) RebuildWith(ctx context.Context, name string, o BuildOptions) error {
	return x.source.rebuildIndex(ctx, name, o)
}

// RemoveUnused removes the indexes that this program's type does not have, by
// name, from the directory: their entries, and their place in its header, which ends
// their maintenance by all programs. Call it from the newest program only, since an older
// one would remove the newer one's indexes. A program that still has a removed index
// finds it as one that was never built: queries return an *[IndexStateError], and
// Build builds it again. It works where a *[ForeignIndexError] refuses writes.
func (x Indexes) RemoveUnused(ctx context.Context) error { return x.source.removeUnusedIndexes(ctx) }

// Violations returns the violations of the unique index with that name in keys, while it
// cannot be completed: behind a token, or the first ones if token is empty. A page has
// at least fifty, unless it is the last one. An index that is readable, or not yet
// built, has none. A wrong name is a *[NoIndexError], a wrong token an [ErrBadToken].
//
// Violations checks each of them again and removes those that are solved from the list,
// in transactions of its own. So the list is exact at the time of the call. Where the
// owner of a value is gone, the first of the other records becomes the owner. When
// none are left Build makes the index readable. While the tenant is locked, the error is a
// *[LockedError].
//
// Cost: for each fifty violations a range read, two rounds of reads each, and a commit.
func (x Indexes) Violations(ctx context.Context, index, token string) (ViolationPage, error) {
	return x.source.violations(ctx, index, token)
}

// Verify compares every record with its entries in all readable indexes, and
// every entry with its record. It changes nothing, runs beside readers and
// writers, and takes as many transactions as it needs: an entry and its record
// are compared within one. [Indexes.Repair] mends entries, [Indexes.VerifyWith] has
// options.
func (x Indexes) Verify(ctx context.Context) (Report, error) {
	return x.source.verify(ctx, VerifyOptions{})
}

// VerifyWith is [Indexes.Verify] with options. If it ends early, with an error or with
// the end of ctx, the report says what it has found until then, and its Next is the token
// with which another call goes on, perhaps in another process.
//
// Counts and sums of few records are compared with the records at one version, which can be
// read for five seconds. Those of more records are counted anew beside writers: VerifyWith
// adds an index to the directory, the recount, with the name of the other one and
// "~recount" behind it. It builds the recount as Build builds any index, compares the two
// group by group, each at one version, and removes the recount. Queries go on reading the
// count or sum. Meanwhile writes maintain both, also those of programs that do not have
// the index, and [Indexes.Progress] names the recount. If the process is killed the
// recount stays: the next call goes on with it, or RemoveUnused removes it. In a locked
// tenant nothing can be counted anew, and the report has such counts and sums as skipped.
//
// Cost: it reads every record, and every entry, once, and every record once more if the
// type has counts or sums. Each transaction reads at
// most [Options].BuildBatch of them, and about two megabytes of records. A recount costs
// what its build costs.
func (x Indexes) VerifyWith(ctx context.Context, o VerifyOptions) (Report, error) {
	return x.source.verify(ctx, o)
}

// Repair is VerifyWith with VerifyOptions.Repair: it mends the entries at fault, and only
// these, while programs read and write. A transaction that mends an entry reads its record
// again, so it never undoes a concurrent write. One that corrects a count or a sum adds what
// is missing, which commutes with what writes add: it conflicts with no write.
//
// The counts of ranks remain: Rebuild mends them. Other faults need a decision: records that cannot be decoded, and records that have a unique
// value of another record that has it, too. The report's Faults has all faults,
// Repaired is the number of those that are mended.
func (x Indexes) Repair(ctx context.Context) (Report, error) {
	return x.source.verify(ctx, VerifyOptions{Repair: true})
}

// History returns what the header of the store's directory said of schema and
// indexes, the first version first, the present one last; nothing if no record was ever
// written there. A version is kept when a program of a newer schema writes for the first
// time, and when an index is added, built in another layout or removed; not for changes of
// an index's state.
//
// Cost: two rounds of reads.
func (x Indexes) History(ctx context.Context) ([]SchemaVersion, error) {
	return x.source.schemaHistory(ctx)
}
