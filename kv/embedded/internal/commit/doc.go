// SPDX-License-Identifier: Apache-2.0

// Package commit turns requests into versions, and moves versions to the base once they
// are old: it is the only place where the database changes.
//
// The [Committer] promises to the packages above:
//
//   - [Committer.Commit] and [Committer.Drive] never wait for the disk. Each request is
//     told one outcome, also if the disk fails, the window is full, or the committer
//     is stopped.
//   - A request commits only if nothing in its read conflict ranges was written above its
//     read version. Versions ascend, and all requests of a batch have one version.
//   - A request that was told a version is in the log, synced unless the log is lazy, and
//     in the newest view. After the first error of the disk nothing more commits.
//   - Watches fire for what was published, and for nothing else.
//
// The [Absorber] promises:
//
//   - A write leaves the window only after the base has it, and the log only after the
//     base has it on the disk. What it gives to the base is synced in the log.
//   - The window takes little more than WindowSize: commits move before they are old,
//     up to the oldest version that a transaction reads, and then commits wait.
//
// Both are one package because they share one lock and one account: the absorber takes
// its work out of the journal, and forgets what it has moved, between two decisions of
// the committer, and the committer waits when the absorber's account of the window is
// full. What they change lies in mvcc, base and commitlog, which know nothing of them.
package commit
