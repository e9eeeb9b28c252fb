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
