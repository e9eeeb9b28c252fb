// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"sync"
)

// queue lets one goroutine of the process at a time use a name, so that only that one
// waits in the system for the lock of a file.
type queue struct {
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is the lock of a name.
type turn struct {
	users int           // goroutines that have the name or wait for it
	held  chan struct{} // has an element while one has it
}

// awaitTurn waits for a name, until ctx ends. The caller gives the name back with leave.
func (q *queue) awaitTurn(ctx context.Context, name string) (leave func(), err error) {
	q.mu.Lock()
	t := q.turns[name]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		if q.turns == nil {
			q.turns = map[string]*turn{}
		}
		q.turns[name] = t
	}
	t.users++
	q.mu.Unlock()
	select {
	case t.held <- struct{}{}:
		return func() {
			<-t.held
			q.dropTurn(name, t)
		}, nil
	case <-ctx.Done():
		q.dropTurn(name, t)
		return nil, context.Cause(ctx)
	}
}

// dropTurn forgets a name that is no longer used.
func (q *queue) dropTurn(name string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(q.turns, name)
	}
}
