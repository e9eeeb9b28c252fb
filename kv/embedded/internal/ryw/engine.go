// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Engine is what transactions need of a database. It is safe for concurrent use.
//
//  1. No method waits for the disk or for another commit.
//  2. No method takes a lock of a transaction: a transaction may hold its own while
//     it calls any of them.
//  3. A transaction releases its View once it does not read it any more. The engine
//     knows so which versions are still read. It finds out late about transactions
//     that become garbage before.
type Engine interface {
	// Newest returns the view for a transaction that makes its first read now. It has
	// every commit that was acknowledged before the call. Release must follow.
	Newest() View

	// At returns the view of a version that the caller chose; Release must follow. The error has
	// kv.CodeFutureVersion if the version is ahead of Newest, and
	// kv.CodeTransactionTooOld if it is not in memory any more.
	At(version int64) (View, error)

	// CheckAge returns an error with kv.CodeTransactionTooOld if a version is too old
	// to be read.
	CheckAge(version int64) error

	// Closed reports whether the database was closed or is being closed.
	Closed() bool

	// Start runs a task in another goroutine.
	Start(reads.Task)

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

// View is the database at one version. It is immutable, and any number of
// goroutines may read it. Once [Engine.CheckAge] refuses its version, its methods
// may fail with kv.CodeTransactionTooOld.
//
// The keys and values that it returns are shared: neither the transaction nor its
// caller modifies them.
type View interface {
	Version() int64

	// Release says that the caller does not read the view any more. After it the methods
	// that wait for the disk may fail with kv.CodeTransactionTooOld.
	Release()

	// Metadata returns the value of kv.MetadataVersionKey. It does not wait.
	Metadata() []byte

	// InMemory reports whether no read of the view ever waits for the disk.
	InMemory() bool

	// LookUp returns the value of key, nil for none, if memory has it: then ok is
	// true. It does not wait.
	LookUp(key []byte) (value []byte, ok bool, t reads.Ticket, err error)

	// Prefetch lets the processor load what memory has of some keys, because LookUp
	// is about to be called with each. It does not wait.
	Prefetch(keys [][]byte)

	// Fetch returns the value of key, nil for none, if LookUp did not have it. It may
	// wait for the disk.
	Fetch(t reads.Ticket, key []byte) ([]byte, error)

	// Get is LookUp and, if need be, Fetch.
	Get(key []byte) ([]byte, error)

	// NewScan returns a scan that is at no pair yet. Each of its steps counts
	// against the budget. Close must follow.
	NewScan(b *reads.Budget) Scan

	// Collect gives the pairs of [begin, end) to r, from the end backward if reverse,
	// until r is full, which it reports, or b is used up, which is an error. It may
	// wait for the disk. begin is not after end.
	Collect(begin, end []byte, reverse bool, r *reads.Builder, b *reads.Budget) (full bool, err error)
}

// Scan walks over the pairs of a view, for one goroutine. Its methods may wait for
// the disk. After an error it behaves as if there were no more pairs; Err and Close
// return that error.
type Scan interface {
	// Seek moves to the first pair with a key not below from.
	Seek(from []byte) (key, value []byte, ok bool)

	// Next moves to the pair after the one that Seek or Next has found.
	Next() (key, value []byte, ok bool)

	// SeekBelow moves to the last pair with a key below end.
	SeekBelow(end []byte) (key, value []byte, ok bool)

	// Err returns the first error.
	Err() error

	// Close releases the scan and returns the first error. It may be called again.
	Close() error
}
