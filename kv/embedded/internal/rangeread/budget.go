// SPDX-License-Identifier: Apache-2.0

package rangeread

import (
	"errors"
	"sync/atomic"
)

// Budget bounds the steps of a read. It ends a long read whose result is no longer
// wanted, and keeps one short that must be made at once. The zero value has no
// bound.
type Budget struct {
	Used    int          // steps so far
	Most    int          // steps after which the read fails with [ErrNotAtHand]; 0: no bound
	Abandon *atomic.Bool // set when the result is no longer wanted; nil: never
}

// StepsBetweenChecks is after how many steps a read looks at its budget.
const StepsBetweenChecks = 64

var (
	// ErrNotAtHand says that a read that was to be made at once needs the disk, or
	// many steps. A goroutine then makes the read.
	ErrNotAtHand = errors.New("embedded: the read needs the disk or many steps")

	// ErrAbandoned ends a read whose future the transaction has resolved already.
	ErrAbandoned = errors.New("embedded: the result of the read is no longer wanted")
)

// Step counts a step and returns why the read must not go on, or nil.
func (b *Budget) Step() error {
	if b.Used++; b.Used%StepsBetweenChecks != 0 {
		return nil
	}
	switch {
	case b.Abandon != nil && b.Abandon.Load():
		return ErrAbandoned
	case b.Most > 0 && b.Used >= b.Most:
		return ErrNotAtHand
	}
	return nil
}
