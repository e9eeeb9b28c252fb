// SPDX-License-Identifier: Apache-2.0

// Package embedded is the default engine: FoundationDB's semantics inside this
// process, durable, without cgo and with nothing to install.
//
//	db, err := embedded.Open("data") // or OpenMemory()
//	if err != nil {
//		return err // a *LockedError names the process that has the folder open
//	}
//	defer db.Close()
//	err = db.Transact(ctx, func(tx kv.Transaction) error {
//		tx.Set([]byte("hello"), []byte("world"))
//		return nil
//	}) // when it returns nil the write is on the disk
//
// # Architecture
//
// It is FoundationDB's own arrangement in small.
//
// Versions advance about a million a second, follow the monotonic clock, and
// jump ahead over a restart.
//
// The window is an ordered map in memory of what was written in the last five
// seconds: a B+tree that is copied on write. Each batch of commits publishes an
// immutable snapshot of it, the view; a transaction reads the view that was the
// newest at its first read. Readers take no lock and hold no snapshot of the
// storage; old views are garbage like any other.
//
// The base, behind the window, is a Pebble store without a log of its own. It is
// given only each key's last value, once that has become older than the window;
// it never sees the versions in between, so keys that are overwritten often
// cost it nothing. Keys that were read lately are found, with their values, in a
// cache before it; what changes in the base leaves the cache before the window
// forgets the change. A reader older than what the base has absorbed is told
// 1007. A journal of what was written tells what to move, and how much memory it
// takes; if that is too much, commits move before they are old, or wait
// ([Options]). [OpenMemory] is the same engine without a base: its window holds
// everything.
//
// Keys that were cleared lie in the way of reads until window and base are rid of
// them. A read that has gone past many tells the committer, and views that
// follow have the range in which there is nothing: reads leap over it. Runs of
// keys that were cleared one by one become one range tombstone in the base.
//
// The log makes commits durable: one frame a batch, synced before any of the
// batch is acknowledged, in segments that are dropped once the base has them on
// disk. Opening replays what the base lacks; the torn end that a crash leaves
// was never acknowledged and is cut off; damage anywhere else is an error that
// names file and offset. Frames say how far the segment was known to be on the
// disk, each segment says where the one before ends, and Close begins one and
// notes how far the log goes: that is how the two are told apart.
//
// The resolver decides which transactions conflict. The window has the versions
// of single keys that were set; other write conflict ranges are a step function
// over the key space. Both are trees that know the highest version below each node, so
// that a check does not depend on how wide a range is nor on how much the
// database holds.
//
// The committer works in two stages that overlap. The first takes what is
// queued, resolves it and applies it to the window; the second syncs one frame,
// publishes the view, and answers. While the disk is busy with one batch, the
// next one gathers: the more transactions wait, the fewer syncs each costs.
//
// # Transactions
//
// Reads merge the transaction's own writes over the view as FoundationDB's
// client does, request by request, add the conflict ranges that it adds, and end
// batches where it ends them; the package replays traces recorded on a real
// cluster without a difference (TestGoldens). What they prove is
// listed in kv/kvtest/replay/testdata/coverage.md.
//
// A read that memory can answer is answered at once. One that needs the disk, or
// many steps, is made by a goroutine, with the transaction's writes and version of
// the moment in which it was begun: reads of one transaction overlap, and its
// Cancel, Reset, OnError and timeout end them. A commit waits for the
// transaction's reads. The values that atomic operations need are read before the
// commit is queued, so that no commit waits for the reads of another.
//
// # Failures
//
// After a disk error nothing more is committed: every commit fails with a
// *[DiskError] (1510), reads go on, and opening the database again recovers
// what was acknowledged. Damage is a *[CorruptError]. One process may have a
// folder open: another gets a *[LockedError]. [Options.ReadOnly] reads a folder
// that cannot, or must not, be written to.
//
// # Operations
//
// [Database.Backup] copies the database to a folder while it is in use,
// [Restore] brings a backup back, [Verify] checks a folder, [Database.Metrics]
// tells how the database does. docs/operations.md
// of the repository tells when to do what.
//
// # Concurrency
//
// A [Database] is safe for concurrent use; for transactions see package kv.
package embedded
