// SPDX-License-Identifier: Apache-2.0

// Package mvcc holds the versions of the database that memory knows: what was written
// lately (the window), over what is older (the base), as an immutable view for each
// version; and what decides whether two transactions conflict.
//
// It promises to the packages above:
//
//   - A [View] is the database at one version. Any number of goroutines read it
//     without a lock, while commits go on. A read whose version the base has gone
//     past gets CodeTransactionTooOld, never a value of another version.
//   - [Head.Newest] has every commit that was published before the call, and its
//     version is below that of every commit that is assigned one later.
//   - [Head.At] finds the view of each version of the last five seconds that is read,
//     and of those that are not as many as the limit of the history allows.
//   - [Resolver.Conflicts] finds every write conflict range above a version that is not
//     below [Window.OldestReader], and no other.
//   - [Window.Forget] drops only what is not newer than the version that it is given;
//     views that were made before keep it. The [Journal] lists what the window holds
//     that is to move to the base.
//   - Vacancies, ranges that a read found empty, change what a scan costs and never
//     what it finds.
//
// The window, the resolver, the journal and the vacancies are one package because each
// is a part of one statement about the last seconds: the resolver finds the versions of
// single keys in the window's entries, the window cuts what is set out of the
// vacancies, and the journal lists the entries. The package above decides when they
// change: it commits, makes durable, and absorbs.
//
// A [Window] with its [Resolver] has no lock: one goroutine at a time uses them.
// Everything else is safe for concurrent use as said at [Head] and [Journal].
package mvcc
