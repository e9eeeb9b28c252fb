// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Engine is what transactions need of a database. It is safe for concurrent use.
//
//  1. No method waits for the disk or for another commit.
//  2. No method takes a lock of a transaction: a transaction may hold its own while
//     it calls any of them.
//  3. A transaction keeps a reference to its View for as long as it may read it. The
//     engine may find out so which versions are still read.
type Engine interface {
	// Newest returns the view for a transaction whose first read is made now. It has
	// every commit that was acknowledged before the call.
	Newest() View

	// At returns the view of a version that the caller chose. The error has
	// kv.CodeFutureVersion if the version is ahead of Newest, and
	// kv.CodeTransactionTooOld if it is not in memory any more.
	At(version int64) (View, error)

	// CheckAge returns an error with kv.CodeTransactionTooOld if a version is too old
	// to be read.
	CheckAge(version int64) error

	// Closed reports whether the database was closed or is being closed.
	Closed() bool

	// Start runs a task in another goroutine.
	Start(readers.Task)

	// Commit queues a request, once the values that its atomic operations need have
	// been read. r.Finisher is told the outcome, maybe before Commit returns. What is
	// queued is committed when a goroutine calls Drive.
	Commit(r *txn.Request)

	// Drive has what is queued committed. It may do a part of the work in the calling
	// goroutine.
	Drive()

	// NewWatch returns a watch that is not armed, and keeps key and value. The error
	// has kv.CodeTooManyWatches.
	NewWatch(key, value []byte) (*watch.Watch, error)

	// Arm arms the watches of a transaction that committed and wrote nothing. Those of
	// other transactions are armed by the commit.
	Arm([]*watch.Watch)

	// Sample yields the byte sample of what is committed in a range, in order of the
	// keys: keys with the bytes that each stands for.
	Sample(kv.KeyRange) iter.Seq2[[]byte, int64]

	// CountRetry counts a retry that OnError allows.
	CountRetry()
}
