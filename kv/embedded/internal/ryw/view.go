// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// View is the database at one version. It is immutable, and any number of
// goroutines may read it. Once [Engine.CheckAge] refuses its version, its methods
// may fail with kv.CodeTransactionTooOld.
//
// The keys and values that it returns are shared: neither the transaction nor its
// caller modifies them.
type View interface {
	Version() int64

	// Metadata returns the value of kv.MetadataVersionKey. It does not wait.
	Metadata() []byte

	// InMemory reports whether no read of the view ever waits for the disk.
	InMemory() bool

	// LookUp returns the value of key, nil for none, if memory has it: then ok is
	// true. It does not wait.
	LookUp(key []byte) (value []byte, ok bool, t ticket.Ticket, err error)

	// Prefetch lets the processor load what memory has of some keys, because LookUp
	// is about to be called with each. It does not wait.
	Prefetch(keys [][]byte)

	// Fetch returns the value of key, nil for none, if LookUp did not have it. It may
	// wait for the disk.
	Fetch(t ticket.Ticket, key []byte) ([]byte, error)

	// Get is LookUp and, if need be, Fetch.
	Get(key []byte) ([]byte, error)

	// NewScan returns a scan that is at no pair yet. Each of its steps counts
	// against the budget. Close must follow.
	NewScan(b *rangeread.Budget) Scan

	// Collect gives the pairs of [begin, end) to r, from the end backward if reverse,
	// until r is full, which it reports, or b is used up, which is an error. It may
	// wait for the disk. begin is not behind end.
	Collect(begin, end []byte, reverse bool, r *rangeread.Builder, b *rangeread.Budget) (full bool, err error)
}

// Scan walks over the pairs of a view, for one goroutine. Its methods may wait for
// the disk. After an error it behaves as if there were no more pairs; Err and Close
// return that error.
type Scan interface {
	// Seek moves to the first pair whose key is not below from.
	Seek(from []byte) (key, value []byte, ok bool)

	// Next moves to the pair behind the one that Seek or Next has found.
	Next() (key, value []byte, ok bool)

	// SeekBelow moves to the last pair whose key is below end.
	SeekBelow(end []byte) (key, value []byte, ok bool)

	// Err returns the first error.
	Err() error

	// Close releases the scan and returns the first error. It may be called again.
	Close() error
}
