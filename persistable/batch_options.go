// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
)

// BatchOptions say how the writes of many records are divided into transactions. The
// zero value is a good choice.
type BatchOptions struct {
	// Records is the maximum number of records in a transaction. The default value
	// is 1000. The first transaction has 100 at most; the number doubles after each
	// that commits at once, and halves after each attempt that fails.
	Records int
	// Bytes is about how many bytes of keys and values a transaction writes at most.
	// The default value is 1,000,000; FoundationDB allows ten times as much, but
	// works best below. A record that is larger has a transaction of its own.
	Bytes int
	// Progress is called after each commit, by the goroutine of the caller. nil: it
	// is not called. It is not called in a transaction of the caller.
	Progress func(BatchProgress)
}

// BatchProgress is how far the writes of many records have come.
type BatchProgress struct {
	Done         int // records written so far, or deleted
	Transactions int // committed so far
	Last         int // records of the last transaction
}

// Validate reports all faults of the options, joined.
func (o BatchOptions) Validate() error {
	var faults []error
	if o.Records < 0 {
		faults = append(faults, fmt.Errorf("persistable: BatchOptions.Records is %d, must not be negative", o.Records))
	}
	if o.Bytes < 0 || o.Bytes > maxRecordSize {
		faults = append(faults, fmt.Errorf("persistable: BatchOptions.Bytes is %d, must be from 0 to %d", o.Bytes, maxRecordSize))
	}
	return errors.Join(faults...)
}

const (
	firstBatch   = 100       // the maximum number of records in the first transaction
	bytesOfBatch = 1_000_000 // the default of BatchOptions.Bytes
)

func (o BatchOptions) withDefaults() BatchOptions {
	o.Records = orDefault(o.Records, 1000)
	o.Bytes = orDefault(o.Bytes, bytesOfBatch)
	return o
}
