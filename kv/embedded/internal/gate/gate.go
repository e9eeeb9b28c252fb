// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"sync"
	"sync/atomic"
)

// Gate lets users in until it is shut, and shutting waits for those inside.
// Entering costs one atomic addition.
type Gate struct {
	users atomic.Int64 // those inside; less shutBias once shut
	once  sync.Once
	empty chan struct{} // closed when shut and empty
}

const shutBias = 1 << 62

func New() *Gate { return &Gate{empty: make(chan struct{})} }

// Enter reports whether the gate is open. If so, leave must follow.
func (g *Gate) Enter() bool {
	if g.users.Add(1) > 0 {
		return true
	}
	g.Leave()
	return false
}

func (g *Gate) Leave() {
	if g.users.Add(-1) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
}

// Shut closes the gate and waits until everyone has left. It is called once.
func (g *Gate) Shut() {
	if g.users.Add(-shutBias) == -shutBias {
		g.once.Do(func() { close(g.empty) })
	}
	<-g.empty
}
