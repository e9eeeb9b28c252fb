// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"sync"
)

// names lets one goroutine of this process at a time change a sequence. The lock is for
// speed only: without it, one of many goroutines would win each round of comparisons.
// Against other processes the comparison of versions protects.
type names struct {
	mu   sync.Mutex
	busy map[string]*turn
}

// turn is the lock of one name, and the number of goroutines that have it or wait for it.
type turn struct {
	free  chan struct{} // has an element if no goroutine has the lock
	users int
}

// lock waits for the lock of a name. The caller calls unlock if there is no error.
func (n *names) lock(ctx context.Context, name string) (unlock func(), err error) {
	t := n.joinQueue(name)
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; n.leaveQueue(name, t) }, nil
	case <-ctx.Done():
		n.leaveQueue(name, t)
		return nil, ctx.Err()
	}
}

func (n *names) joinQueue(name string) *turn {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy == nil {
		n.busy = map[string]*turn{}
	}
	t := n.busy[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		n.busy[name] = t
	}
	t.users++
	return t
}

func (n *names) leaveQueue(name string, t *turn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(n.busy, name)
	}
}
