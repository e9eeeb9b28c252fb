// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// Store is the store whose indexes are built. It is safe for concurrent use.
type Store interface {
	// Transact runs fn in a transaction and commits it, and runs fn again after a
	// retryable error. The transaction conflicts with every change of the store's
	// header. fn is not called if there is no store.
	Transact(ctx context.Context, fn func(Transaction) error) error
	// Read runs fn in a transaction that only reads. fn is not called if there is no
	// store.
	Read(ctx context.Context, fn func(kv.ReadTransaction, Place) error) error
}

// Transaction is one attempt of a transaction on an open store.
type Transaction interface {
	// KV returns the engine's transaction.
	KV() kv.Transaction
	// Place returns the place that the transaction has opened.
	Place() Place
	// SetStates changes the header: the indexes for which which returns true get the
	// state.
	SetStates(ctx context.Context, to index.State, which func(*index.Index) bool) error
	// CutRecord returns what follows Place.Records in the key of the record to which a
	// key belongs, which may be one of its chunks. It reports whether there is one.
	CutRecord(key []byte) (suffix []byte, ok bool)
	// Fill writes the entries of the records of a batch.
	Fill(ctx context.Context, b Batch) (Portion, error)
}

// Batch says which records a transaction is to index. Keys are without
// Place.Records.
type Batch struct {
	From, To []byte
	Records  int    // the most records
	Bytes    int    // about the most bytes that are read and written; one record is always taken
	Indexes  []bool // which of Place.Indexes
}

// Portion is the part of a batch that a transaction has indexed.
type Portion struct {
	Next    []byte // behind the last record; Batch.To if none are left
	Records int
	Bytes   int
}
