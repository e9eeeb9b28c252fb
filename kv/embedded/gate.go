// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"
)

// gate lets users in until it is shut, and shutting waits for those inside.
// Entering costs one atomic addition.
type gate struct {
	users atomic.Int64 // those inside; less shutBias once shut
	once  sync.Once
	empty chan struct{} // closed when shut and empty
}

const shutBias = 1 << 62

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether the gate is open. If so, leave must follow.
func (g *gate) enter() bool {
	if g.users.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.users.Add(-1) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
}

// shut closes the gate and waits until everyone has left. It is called once.
func (g *gate) shut() {
	if g.users.Add(-shutBias) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
	<-g.empty
}
