// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"math"
	"sync/atomic"
	"time"
)

// contactTime is the time since which the election timeout of a group counts: twice the time of the latest
// contact or of its arming, plus one if that is a contact which the machine does not know of. It only grows while the
// timeout runs.
type contactTime struct{ atomic.Int64 }

// latestContact bounds the times of contacts, so that a deadline never overflows.
const latestContact = time.Duration(math.MaxInt64 / 4)

// noteContact notes a contact.
func (p *contactTime) noteContact(at time.Duration) {
	p.raiseTo(2*int64(min(max(at, -1), latestContact)) + 1)
}

// restartAt says that the timeout counts from a time unless a later contact was noted.
func (p *contactTime) restartAt(at time.Duration) { p.raiseTo(2 * int64(at)) }

func (p *contactTime) raiseTo(to int64) {
	for {
		old := p.Load()
		if old >= to || p.CompareAndSwap(old, to) {
			return
		}
	}
}

// resetUnlessHeard says that the timeout counts from a time, whatever the contact time was when it was known, unless a later contact
// was noted since.
func (p *contactTime) resetUnlessHeard(at time.Duration, known int64) {
	if !p.CompareAndSwap(known, 2*int64(at)) {
		p.restartAt(at)
	}
}

// since returns the time since which the timeout counts.
func (p *contactTime) since() time.Duration { return time.Duration(p.Load() >> 1) }

// takeContact returns the time of the latest contact, and false if it was taken before, or if there was none since
// the arming.
func (p *contactTime) takeContact() (time.Duration, bool) {
	noted := p.Load()
	if noted&1 != 0 {
		p.CompareAndSwap(noted, noted-1) // if it fails, there is a later one for the next call
	}
	return time.Duration(noted >> 1), noted&1 != 0
}
