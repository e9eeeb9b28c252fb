// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"sync/atomic"
)

// budget counts the steps of a read, so that a long one ends when its result is
// no longer wanted, and one that was to be made at once does not become long. The
// zero value has no bound.
type budget struct {
	steps int
	most  int          // steps, after which the read fails with errNotAtHand; 0: no bound
	quit  *atomic.Bool // set when the result is no longer wanted; nil: never
}

const (
	// atOnce is how many steps a read takes while the transaction is locked; one
	// that is known to need more gives up after atOnceIfLong.
	atOnce       = 4096
	atOnceIfLong = 64

	// stepsBetweenChecks is after how many steps a read looks at its budget.
	stepsBetweenChecks = 64
)

var (
	// errNotAtHand says that a read that was to be made at once needs the disk, or
	// many steps. The read is then made by a goroutine.
	errNotAtHand = errors.New("embedded: the read needs the disk or many steps")

	// errGivenUp ends a read whose future the transaction has resolved already.
	errGivenUp = errors.New("embedded: the result of the read is no longer wanted")
)

// step counts a step and returns why the read must not go on, or nil.
func (b *budget) step() error {
	if b.steps++; b.steps%stepsBetweenChecks != 0 {
		return nil
	}
	switch {
	case b.quit != nil && b.quit.Load():
		return errGivenUp
	case b.most > 0 && b.steps >= b.most:
		return errNotAtHand
	}
	return nil
}
