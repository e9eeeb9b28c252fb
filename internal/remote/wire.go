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

// Request is a call. Its fields are those of the verb's arguments.
type Request struct {
	Tx, Number uint64 // of the transaction on the connection, and of the call
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

// Response is the answer to a call.
type Response struct {
	Value   []byte
	Absent  bool // Value is nil
	Batch   kv.Batch
	Keys    [][]byte
	Integer int64
	Failure Failure

	Reads, Writes []kv.KeyRange // of conflictRanges; conflictingKeys has Reads only
}

// Failure is an error on its way; the zero Failure is none.
type Failure struct {
	Code   kv.Code
	Closed bool // kv.ErrClosed
	Text   string

	Conflicts []kv.KeyRange
}

func failureOf(err error) Failure {
	var engine *kv.Error
	switch {
	case err == nil:
		return Failure{}
	case errors.As(err, &engine):
		return Failure{Code: engine.Code, Text: engine.Detail, Conflicts: engine.Conflicts}
	}
	return Failure{Closed: errors.Is(err, kv.ErrClosed), Text: err.Error()}
}

func (f Failure) err() error {
	switch {
	case f.Code != 0:
		return &kv.Error{Code: f.Code, Detail: f.Text, Conflicts: f.Conflicts}
	case f.Closed:
		return kv.ErrClosed
	case f.Text != "":
		return fmt.Errorf("remote: %s", f.Text)
	}
	return nil
}
