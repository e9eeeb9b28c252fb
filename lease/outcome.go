// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"

	"github.com/kazahana-db/kazahana/idgen"
)

// outcome is the result of one transaction of [Server.Acquire]. The transaction
// is committed whatever the outcome is: one that grants nothing may have begun a
// quarantine, or corrected the queue of free blocks.
type outcome struct {
	leases  []idgen.Lease // what was granted; nil if nothing was
	refusal error         // why nothing was granted; of a retry, what the last attempt returns
	next    nextStep
}

// nextStep is what Acquire does after a transaction.
type nextStep int

const (
	answer        nextStep = iota // return the leases or the refusal
	retry                         // run another transaction
	createService                 // create the service, then run another transaction
)

var (
	// errStaleQueue says that an entry of the queue of free blocks and its block
	// disagree: another transaction changed the block after the queue was
	// scanned. If it happens in all attempts, the store is corrupt.
	errStaleQueue = errors.New("lease: the queue of free blocks was outdated")

	// errNoService says that the service is not in the store, or is about to be
	// removed.
	errNoService = errors.New("lease: the service is not in the store")
)
