// SPDX-License-Identifier: Apache-2.0

// Package build builds the indexes of a store while programs write to it. A [Run] is
// the part that one process takes:
//
//	run := build.NewRun(store, options)
//	for found := true; found; {
//		found, err = run.Build(ctx)
//	}
//
// The indexes are in the state building until the end: all writes maintain them, and no
// query reads them. The records are divided into ranges, by the engine's split points.
// The ranges, their progress, and the claims of workers are the work list, in the
// database ([List]; package worklist). So a build goes on after any crash, in any process,
// with any number of workers.
//
// # Each record once
//
// Entries may be written twice. Counts and sums may not: a build must count each record
// exactly once, and so must the writes during it. These are the rules:
//
//  1. A record is done if its key is in [Begin, Next) of the range that contains its
//     key. Ranges cover all keys of records, and never change but for Next, which only
//     grows. The list is written in the transaction that brings its indexes to the state
//     building and clears their entries, and removed in the one that makes them
//     readable; every transaction reads the header, which has these states.
//  2. A batch is one transaction. It reads the range's Next, indexes the records of
//     [Next, next) as they are at its read version, and sets Next to next. It conflicts
//     with every other change of the range's key.
//  3. A batch has a read conflict range over the keys [Next, next): exactly the records
//     that it covers. It reads them as a snapshot, because the engine reads ahead.
//  4. A batch has a write conflict range over the same keys, if any of its indexes
//     counts each record once.
//  5. A write of a record reads the record's key and conflicts with changes of it. It
//     reads as a snapshot, at the same version, whether the record is done. It maintains
//     the indexes that count each record once, by the difference between the record's
//     stored form and its new form, if and only if the record is done. It maintains
//     all other indexes in any case.
//
// Why every record is counted once, whatever the order of events. Let a batch B cover
// the record R. By 1 and 2 exactly one committed batch covers R: Next is read and
// moved in one transaction, and never moves back. Take any committed write W of R.
//
//   - W commits before B's read version. B is not committed at W's read version, so W
//     did not maintain. B indexes the form that W left, or one that is later.
//   - W commits after B's read version and before B commits. W writes R's key, which is in
//     B's read conflict range (3): B does not commit. The case does not occur.
//   - B commits after W's read version and before W commits. W has read R's key, which is
//     in B's write conflict range (4): W does not commit.
//   - B commits before W's read version. W sees that R is done, and maintains: the
//     entries go from R's stored form, which they have by induction, to its new form. A
//     record that W creates was not there when B committed, so it has no entries yet, and
//     W adds all of them.
//
// Further cases are instances of these:
//
//   - A transaction that writes R twice reads the progress at one version. Its second
//     write takes the first one's form as stored, and maintains if the first one did.
//   - Writes read the progress as a snapshot. So they do not conflict with batches of
//     other records, although these change the same range's key, nor with each other.
//   - A commit of unknown outcome (1021): the next attempt of the batch reads Next again.
//     If the attempt before was committed, it goes on after what that one covered. The
//     numbers of records and bytes are in the range's value and are exact as well.
//   - A claim that is taken from a worker that was only slow: claims only save work. The
//     slow worker's batch and the other worker's change the same key: one does not commit,
//     and then finds the range claimed by the other (2).
//   - Records of a scattered store lie in shards. Ranges, progress and conflict ranges
//     are of keys, so the shards make no difference. Chunks of a record follow its key, and
//     no range begins between them.
//   - A batch of an index of values needs 3, not 4: if such a write and a batch overlap, the
//     write removes the entries of the form that it has read, which is the one that the
//     batch has indexed.
//   - Entries of unique indexes are read by batch and write alike before they are set: of
//     two records that claim one value at once, one transaction conflicts. The batch
//     records what it finds taken as a violation.
//
// # Indexes of other programs
//
// A worker moves a range's progress only if it can index the records in all indexes of the
// list that are still in the state building. If it cannot, it returns an error.
// Indexes that are added while a list exists stay disabled until it is completed.
//
// # Claims and limits
//
// Workers claim ranges, pause and take over as package worklist describes. Writers' commits wait
// behind those of batches, so a worker pauses half of its time by default: without pauses
// they wait behind each of its commits.
//
// # Concurrency
//
// A Run is for one call of Build at a time, which runs its workers in goroutines.
//
// The scheme is that of the Record Layer's OnlineIndexer, which keeps done ranges in a
// RangeSet; its mutual indexing shares ranges between workers. The limits follow its
// IndexingThrottle.
package build
