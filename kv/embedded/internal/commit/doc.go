// SPDX-License-Identifier: Apache-2.0

// Package commit turns requests into versions, and moves versions to the base once they
// are old: it is the only place where the database changes.
//
// The [Committer] promises to the packages above:
//
//   - [Committer.Commit] and [Committer.Drive] never wait for the disk. Each request
//     gets one outcome, also if the disk fails, the window is full, or the committer is
//     stopped.
//   - A request commits only if no commit above its read version wrote to its read
//     conflict ranges. Versions ascend, and all requests of a batch have one version.
//   - A request that got a version is in the log, synced unless the log is lazy, and in
//     the newest view. After the first error of the disk nothing more commits.
//   - Watches fire only for published changes.
//
// The [Absorber] promises:
//
//   - A write leaves the window only after the base has it, and the log only after the
//     base has it on the disk. Writes that it gives to the base are synced in the log.
//   - The window takes little more than WindowSize: commits move before they are old,
//     up to the oldest version that a transaction reads, and then commits wait.
//
// Both are one package because they share one lock and one count of memory. Between two
// decisions of the committer the absorber takes its work from the journal, and removes
// the writes that it has moved from the window. The committer waits when the absorber's
// count of the window is full. The data that both change is in mvcc, base and
// commitlog, which do not import this package.
package commit
