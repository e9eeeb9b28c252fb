// SPDX-License-Identifier: Apache-2.0

// Package mvcc holds the versions of the database: an immutable view for each version,
// of the recent writes (the window) over the older state (the base). It also finds
// conflicts of transactions.
//
// It promises to the packages above:
//
//   - A [View] is the database at one version. Any number of goroutines read it without
//     a lock, while commits go on. A read whose version the base has gone past gets
//     CodeTransactionTooOld, never a value of another version.
//   - [Head.Newest] has every commit that was published before the call, and its
//     version is below that of every commit that is assigned one later.
//   - [Head.At] finds the views of the last five seconds that transactions read, and as
//     many others as the limit of the history allows.
//   - [Resolver.Conflicts] finds every write conflict range above a version that is not
//     below [Window.OldestReader], and no other.
//   - [Window.Forget] drops only writes up to the version that it is given; views that
//     were made before keep them. The [Journal] lists the writes of the window that are
//     to move to the base.
//   - Vacancies, ranges that a read found empty, change the cost of a scan and never
//     its result.
//
// The window, the resolver, the journal and the vacancies are one package because they
// describe the same writes: the resolver finds the versions of single keys in the
// window's entries, the window removes keys that are set from the vacancies, and the
// journal lists the entries. The package above decides when they change: it commits,
// makes durable, and absorbs.
//
// A [Window] with its [Resolver] has no lock: one goroutine at a time uses them.
// Everything else is safe for concurrent use, as [Head] and [Journal] say.
package mvcc
