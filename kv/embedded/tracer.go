// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Tracer is told what transactions read and write, and what they wait for: it
// shows which reads make a transaction slow, and which keys make it conflict. Set
// it in [Options]. A nil function is not called.
//
// The functions are called in the goroutines that use the transactions, several at
// a time, with none of the engine's locks held. The transaction goes on when they
// return. They must neither use the transaction nor modify or keep the keys that
// they are given.
//
// A database without a Tracer does nothing for it: the transactions of one with a
// Tracer are wrapped.
type Tracer struct {
	// Read is called when the program has got the result of Get or GetKey, or of a
	// batch of GetRange. It is not called for a result that the program never asks
	// for.
	Read func(ReadTrace)

	// Write is called after Set, Clear, ClearRange and Atomic.
	Write func(WriteTrace)

	// Commit is called when the program has got the outcome of a commit.
	Commit func(CommitTrace)

	// Retry is called when OnError has waited, or has refused another attempt.
	Retry func(RetryTrace)
}

// AttemptID names an attempt of a transaction.
type AttemptID struct {
	Transaction uint64 // from 1 on, in the order in which transactions began
	Attempt     int    // from 1 on; OnError and Reset begin the next one
}

// ReadTrace is a read that has ended.
type ReadTrace struct {
	AttemptID
	Method   string // Get, GetKey or GetRange
	Snapshot bool

	// Range is what was asked for: of Get and GetKey only Begin is set, of a batch of
	// GetRange what the batches before it have left.
	Range kv.SelectorRange

	Pairs int           // how many were read
	Bytes int           // of their keys and values
	Wait  time.Duration // how long the program waited for the result in Future.Get
	Err   error
}

// WriteTrace is a write. It takes effect when the transaction commits.
type WriteTrace struct {
	AttemptID
	Method string      // Set, Clear, ClearRange or Atomic
	Keys   kv.KeyRange // of a single key: from it to its successor
	Bytes  int         // of the value or operand
}

// CommitTrace is a commit that has ended.
type CommitTrace struct {
	AttemptID
	Reads   []kv.KeyRange // the read conflict ranges, in order and merged
	Writes  []kv.KeyRange // the write conflict ranges
	Version int64         // -1 if nothing was committed
	Wait    time.Duration // how long the program waited for the outcome
	Err     error

	// Conflicts are the ranges of Reads that others have written, if the transaction
	// has kv.OptionReportConflictingKeys and Err has CodeNotCommitted.
	Conflicts []kv.KeyRange
}

// RetryTrace is a call of OnError that has ended.
type RetryTrace struct {
	AttemptID               // that has failed
	Cause     error         // what it failed with
	Wait      time.Duration // how long OnError waited
	Err       error         // of OnError; nil: another attempt begins
}
