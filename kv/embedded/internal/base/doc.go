// SPDX-License-Identifier: Apache-2.0

// Package base holds the values of all keys as they were a few seconds ago, on the
// disk: a Pebble store without a log of its own, with a cache of rows before it.
//
// It promises to the packages above:
//
//   - After [Batch.Apply] has returned, no read that begins gets a value from before
//     the batch: neither from the store nor from the row cache.
//   - A value that a reader gets is that of some moment between call and return. A
//     reader at a version asks [Base.IsTooOld] after it has read, and drops what it
//     has read if that is true. The writer calls [Base.RefuseReadersBelow] before it
//     changes the base.
//   - After the first error of the disk nothing more is written to the disk, and the
//     error is raised as the database's fault. Reads go on.
//   - [Base.Flush] brings every applied batch to the disk. After a crash the base is
//     as it was after some batch that ended with [Batch.Finish], or later.
//
// One goroutine at a time writes; any number read.
package base
