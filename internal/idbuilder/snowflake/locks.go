// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"sync"
)

// locks has a lock for each name that is in use. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*namedLock
}

// namedLock is a lock that goroutines hold or wait for.
type namedLock struct {
	token chan struct{} // has one element while a goroutine has the lock
	users int
}

// lock waits for the lock of a name. The caller calls unlock if there is no error.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	h := l.joinQueue(name)
	select {
	case h.token <- struct{}{}:
		return func() { <-h.token; l.leaveQueue(name, h) }, nil
	case <-ctx.Done():
		l.leaveQueue(name, h)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) joinQueue(name string) *namedLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[name]
	if h == nil {
		h = &namedLock{token: make(chan struct{}, 1)}
		if l.held == nil {
			l.held = map[string]*namedLock{}
		}
		l.held[name] = h
	}
	h.users++
	return h
}

func (l *locks) leaveQueue(name string, h *namedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, name)
	}
}
