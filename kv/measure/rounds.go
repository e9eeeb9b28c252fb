// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"sync"
)

// rounds finds the read rounds of one transaction: a round is open from the
// first read that is started until one of its reads is waited for.
type rounds struct {
	meter *Meter

	mu      sync.Mutex
	current int // the number of the open round, or of the last one
	open    bool
}

// start puts a read into the open round or opens one, and returns its number.
func (r *rounds) start() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		r.open = true
		r.current++
		r.meter.add(func(u *Usage) { u.Rounds++ })
	}
	return r.current
}

// wait closes the round if it is the open one.
func (r *rounds) wait(round int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round == r.current {
		r.open = false
	}
}

// close ends the open round: an attempt of the transaction is over.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = false
}
