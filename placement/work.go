// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// step is what a work waits for.
type step uint8

const (
	acquiring step = iota + 1
	loading
	ensuring
	storing
	deactivating
	releasing
	removing
)

// String returns what is done in the step.
func (s step) String() string {
	return name(uint8(s), "none", "acquire", "load", "ensure", "store", "deactivate", "release", "remove")
}

// wait is what resolves wait for: the answer to a request.
type wait struct {
	id    RequestID // 0: no resolve waits
	count int       // how many wait, without those that were abandoned
	began time.Duration
}

// work is an operation that is under way for a key: a request that activates it, the
// end of an activation, or the return of a lease. It lasts until everything that it has
// acquired is an activation in use or was given back.
type work struct {
	id      RequestID // of its commands
	key     Key
	step    step
	keyed   bool // the key waits for it: new resolves join it
	request bool // it is to activate the key
	lease   Lease
	// generation is that of the view by which the key belongs here.
	generation int64
	topology   int64
	wait       wait
	previous   *ActivationRecord
	record     ActivationRecord

	used      *recency.Node[Key, activation] // the activation that ends; nil: it was never in use
	cause     Cause
	asked     Cause // of the Deactivate that was commanded
	made      bool  // the executor was told to make the activation, and may have
	sure      bool  // the executor has confirmed that it made it
	stored    bool  // a store was commanded, and may have happened
	single    bool  // the present step is its last
	unsettled bool  // the outcome of a claim that it repeated is unknown
	lost      bool  // another owner may have the key
	failures  int
	idleSince time.Time
	retryAt   time.Duration // when the step is tried again; 0: it is under way
}

// isOpen reports whether resolves can join the work and get the activation.
func (w *work) isOpen() bool { return w.step <= storing }
