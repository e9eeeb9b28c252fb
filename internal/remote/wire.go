// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// verb is a method of a transaction.
type verb int

const (
	get verb = iota
	getKey
	getRange
	getReadVersion
	getEstimatedRangeSize
	getRangeSplitPoints
	set
	clear
	clearRange
	mutate
	addReadConflictRange
	addWriteConflictRange
	watch
	cancelWatch
	setReadVersion
	setOption
	setOptions
	getApproximateSize
	getCommittedVersion
	getVersionstamp
	commit
	onError
	reset
	cancel
	end // of the transaction: nothing follows
	conflictRanges
	conflictingKeys
)

// changes reports whether the verb makes a commit one that writes.
func (v verb) changes() bool {
	return v == set || v == clear || v == clearRange || v == mutate || v == addWriteConflictRange
}

// answered reports whether the server answers: the others have no result, and what fails there fails the commit.
func (v verb) answered() bool {
	switch v {
	case set, clear, clearRange, mutate, setReadVersion, cancelWatch, reset, cancel, end:
		return false
	}
	return true
}

// outlasts reports whether the answer to the verb may come only after the commit, or long after it.
func (v verb) outlasts() bool { return v == watch || v == getVersionstamp }

// Request is a call. Its fields are those of the verb's arguments.
type Request struct {
	Call, Tx   uint64 // numbers on the connection, of the call and of its transaction
	Verb       verb
	Snapshot   bool
	Key, Value []byte
	Selector   kv.KeySelector
	Batch      kv.BatchRequest
	Range      kv.KeyRange
	Mutation   kv.MutationType
	Option     kv.Option
	Options    kv.TransactionOptions
	Integer    int64
	Failure    Failure // of onError
}

// size is about how many bytes of memory the call takes in a transaction.
func (r *Request) size() int {
	return len(r.Key) + len(r.Value) + len(r.Range.Begin) + len(r.Range.End) + 100
}

// Response is the answer to a call.
type Response struct {
	Call    uint64
	Value   []byte
	Absent  bool // Value is nil
	Batch   kv.Batch
	Keys    [][]byte
	Integer int64 // of commit: the version that it has committed
	Failure Failure

	Reads, Writes []kv.KeyRange // of conflictRanges; conflictingKeys has Reads only
}

// Failure is an error on its way; the zero Failure is none.
type Failure struct {
	Code    kv.Code
	Read    bool // as kv.Error.Read
	Closed  bool // kv.ErrClosed
	Unknown bool // kv.ErrOutcomeUnknown
	Text    string

	Conflicts []kv.KeyRange
}

func failureOf(err error) Failure {
	f := Failure{Unknown: errors.Is(err, kv.ErrOutcomeUnknown), Closed: errors.Is(err, kv.ErrClosed)}
	var engine *kv.Error
	switch {
	case err == nil:
	case errors.As(err, &engine):
		f.Code, f.Read, f.Text, f.Conflicts = engine.Code, engine.Read, engine.Detail, engine.Conflicts
	default:
		f.Text = err.Error()
	}
	return f
}

func (f Failure) err() (err error) {
	switch {
	case f.Code != 0:
		err = &kv.Error{Code: f.Code, Read: f.Read, Detail: f.Text, Conflicts: f.Conflicts}
	case f.Closed:
		return kv.ErrClosed
	case f.Text != "":
		err = errors.New("remote: " + f.Text)
	}
	if f.Unknown {
		return fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, err)
	}
	return err
}
