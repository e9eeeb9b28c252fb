// SPDX-License-Identifier: Apache-2.0

// Package embedded is the default engine: FoundationDB's semantics inside this
// process, durable, without cgo and with nothing to install.
//
//	db, err := embedded.Open("data") // or OpenMemory()
//	if err != nil {
//		return err // a *LockedError: another process has the folder open
//	}
//	defer db.Close()
//	err = db.Transact(ctx, func(tx kv.Transaction) error {
//		tx.Set([]byte("hello"), []byte("world"))
//		return nil
//	}) // when it returns nil the write is on the disk
//
// # Architecture
//
// The engine has the same parts as a FoundationDB cluster, in one process.
//
// Versions advance by about a million a second, follow the monotonic clock, and
// jump ahead over a restart.
//
// The window is an ordered map in memory of the writes of the last five seconds: a
// B+tree that is copied on write. Each batch of commits publishes an immutable
// snapshot of it, the view. A transaction reads the view that was the newest at its
// first read. Readers take no lock and hold no snapshot of the storage; each view
// counts them, and the garbage collector frees old views.
//
// Below the window is the base, a Pebble store without a log of its own. It gets
// only the last value of each key, once that has become older than the window. It
// never sees the versions in between, so keys that are overwritten often cost it
// nothing. A cache before the base holds recently read keys with their values; a
// row leaves the cache before a change of its key leaves the window. A reader that
// is older than the state of the base gets error 1007. A journal of all writes
// lists what to move to the base, and the memory that it takes. If that is too
// much, commits move before they are five seconds old, or wait ([Options]).
// [OpenMemory] is the same engine without a base: its window holds everything.
//
// Cleared keys slow down reads until they have left window and base. A read that
// has passed many of them reports the empty range to the committer. Later views
// have the range, and reads skip it. Runs of keys that were cleared one by one
// become one range tombstone in the base.
//
// The log makes commits durable: one frame for each batch, synced before any commit
// of the batch is acknowledged, in segments that are dropped once the base has them
// on disk: when the log has become long, when nothing was committed for some seconds, and
// at Close. Opening replays the commits that the base lacks, after a Close none. The torn end that a
// crash leaves was never acknowledged and is cut off; damage anywhere else is an
// error that names file and offset. Three notes distinguish the two: frames say
// which part of the segment was known to be on the disk, each segment gives the end
// of the one before, and Close begins a segment and notes the end of the log.
//
// The resolver decides which transactions conflict. The window has the versions of
// single keys that were set; other write conflict ranges are a step function over
// the key space. Both are trees that know the highest version below each node, so
// the cost of a check depends neither on the width of a range nor on the size of
// the database.
//
// The committer works in two overlapping stages. The first takes the queued
// commits, resolves them and applies them to the window. The second syncs one
// frame, publishes the view, and answers. While the disk syncs one batch, the next
// batch forms: the more transactions wait, the fewer syncs each costs.
//
// # Transactions
//
// Reads merge the transaction's own writes over the view as FoundationDB's
// client does, request by request, add the conflict ranges that it adds, and end
// batches where it ends them; the package replays traces recorded on a real
// cluster without a difference (TestGoldens). What they prove is
// listed in kv/internal/replay/testdata/coverage.md.
//
// A read that memory can answer is answered at once. A goroutine makes a read that
// needs the disk, or many steps, with the transaction's writes and version at the
// time when the read began. So reads of one transaction overlap, and its Cancel,
// Reset, OnError and timeout end them. A commit waits for the transaction's reads.
// The values that atomic operations need are read before the commit is queued, so
// that no commit waits for the reads of another.
//
// # Failures
//
// After a disk error every commit fails with [kv.CodeIOError] (1510), reads go on,
// and opening the database again recovers every acknowledged commit. Damage gives a
// *[CorruptError]. One process at a time may have a folder open: another gets a
// *[LockedError]. [Options.ReadOnly] reads a folder that cannot, or must not, be
// written to.
//
// # Operations
//
// [Database.Backup] copies the database to a folder while it is in use, [Restore]
// copies a backup to a new folder, [Verify] checks a folder, [Database.Metrics]
// reports the state of the database. docs/operations.md of the repository describes
// their use.
//
// # Concurrency
//
// A [Database] is safe for concurrent use; for transactions see package kv.
package embedded
