// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Transaction is the transaction in which a range is read.
type Transaction struct {
	Reader kv.ReadTransaction
	*Writes
}

// Writes are what the reads of a transaction that writes must know of its writes.
type Writes struct {
	Writer kv.Transaction
	Count  atomic.Int64 // of writes that have ended
	Fresh  FreshKeys
}

// countWrites returns how many writes have ended; 0 in a transaction that writes nothing.
func (tx *Transaction) countWrites() int64 {
	if tx.Writes == nil {
		return 0
	}
	return tx.Count.Load()
}

// beginScan notes that the transaction begins to read a range. It returns nil in
// one that writes nothing. The caller calls end.
func (tx *Transaction) beginScan(r *Range) *freshScan {
	if tx.Writes == nil {
		return nil
	}
	f := &tx.Fresh
	s := &freshScan{all: f, prefix: r.Prefix, records: r.Records}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = append(f.scans, s)
	f.running.Add(1)
	return s
}
