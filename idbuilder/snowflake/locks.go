// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"sync"
)

// locks has a lock for each name that is in use. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*held
}

// held is a lock that goroutines hold or wait for.
type held struct {
	token chan struct{} // has room for the one holder
	users int
}

// lock waits for the lock of a name, and returns what unlocks it.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	h := l.use(name)
	select {
	case h.token <- struct{}{}:
		return func() { <-h.token; l.leave(name, h) }, nil
	case <-ctx.Done():
		l.leave(name, h)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) use(name string) *held {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[name]
	if h == nil {
		h = &held{token: make(chan struct{}, 1)}
		if l.held == nil {
			l.held = map[string]*held{}
		}
		l.held[name] = h
	}
	h.users++
	return h
}

func (l *locks) leave(name string, h *held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, name)
	}
}
