// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"sync"
)

// names lets one goroutine at a time change a sequence. Other processes
// change it too; the comparison of versions is for them. This lock is
// for speed: of many goroutines that compare, one a round wins.
type names struct {
	mu   sync.Mutex
	busy map[string]*turn
}

// turn is a lock of one name, and how many have it or wait for it.
type turn struct {
	free  chan struct{} // has an element if no goroutine has the lock
	users int
}

// lock waits for a name. The caller calls unlock if there is no error.
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
