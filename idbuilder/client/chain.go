// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstGoal = 16               // IDs in the first request
	maxSize   = 1000             // IDs in a request
	longLife  = 10 * time.Second // a segment that lasts longer is larger than necessary
)

// chain gives the IDs of one key: from the current segment, then from those that
// were fetched ahead.
type chain[T any] struct {
	current atomic.Pointer[segment[T]] // never nil
	client  *Client
	fetch   func(ctx context.Context, size int) ([]T, error)

	mu      sync.Mutex
	ready   []*segment[T] // fetched ahead, in their order
	goal    int           // how many IDs to fetch ahead
	age     time.Duration // after which IDs that were fetched are dropped; 0: never
	begun   time.Time     // when the current segment became current
	pending *fetch        // nil: no fetch is running
	closed  bool
}

// fetch is a running request for IDs.
type fetch struct {
	done   chan struct{} // closed when it has ended
	err    error
	waited bool // a caller waits for it
}

func (c *chain[T]) init(client *Client, fetch func(ctx context.Context, size int) ([]T, error)) {
	c.client, c.fetch, c.goal = client, fetch, min(firstGoal, client.options.Ahead)
	c.current.Store(newSegment[T](nil))
}

// nextN fills dst and returns how many IDs it gave: all, or there is an error.
func (c *chain[T]) nextN(ctx context.Context, dst []T) (n int, err error) {
	for n < len(dst) {
		s := c.current.Load()
		taken, half := s.takeN(dst[n:])
		if half {
			c.refillAhead()
		}
		if n += taken; n < len(dst) {
			if err := c.advanceSegment(ctx, s); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// takeNext returns the next ID after the segment used has none left.
func (c *chain[T]) takeNext(ctx context.Context, used *segment[T]) (T, error) {
	var dst [1]T
	err := c.advanceSegment(ctx, used)
	if err == nil {
		_, err = c.nextN(ctx, dst[:])
	}
	return dst[0], err
}

// advanceSegment makes another segment current after used has no ID left.
func (c *chain[T]) advanceSegment(ctx context.Context, used *segment[T]) error {
	counted := false
	for {
		pending, err := c.swapSegment(used)
		if pending == nil {
			return err
		}
		if !counted {
			counted = true
			c.client.count.waits.Add(1)
		}
		select {
		case <-pending.done:
			if pending.err != nil {
				return pending.err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// swapSegment makes the first ready segment current, unless used is no longer current.
// It returns the fetch to wait for if no segment is ready.
func (c *chain[T]) swapSegment(used *segment[T]) (*fetch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.current.Load() != used:
		return nil, nil // another goroutine was faster
	case len(c.ready) == 0:
		c.startFetch()
		c.doubleGoal()
		return c.pending, nil
	}
	now := time.Now()
	if now.Sub(c.begun) > longLife && len(used.ids) > 0 && c.goal > firstGoal {
		c.goal = max(c.goal/2, firstGoal)
	}
	c.begun = now
	c.current.Store(c.ready[0])
	c.ready = slices.Delete(c.ready, 0, 1)
	return nil, nil
}

// doubleGoal doubles the goal because a caller has to wait: once for each fetch except the first.
func (c *chain[T]) doubleGoal() {
	if f := c.pending; !f.waited && !c.begun.IsZero() {
		f.waited = true
		c.goal = min(2*c.goal, c.client.options.Ahead)
	}
}

// refillAhead fetches IDs in the background if fewer than the goal are ready.
func (c *chain[T]) refillAhead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.needsFetch() {
		c.startFetch()
	}
}

func (c *chain[T]) needsFetch() bool {
	n := 0
	for _, s := range c.ready {
		n += len(s.ids)
	}
	return n < c.goal
}

// startFetch starts a fetch, unless one is running.
func (c *chain[T]) startFetch() {
	if c.pending == nil {
		c.pending = &fetch{done: make(chan struct{})}
		c.client.running.Go(c.fetchUntilGoal)
	}
}

// fetchUntilGoal fetches until as many IDs are ready as the goal says, or a request fails.
func (c *chain[T]) fetchUntilGoal() {
	for more := true; more; {
		c.mu.Lock()
		size := min(c.goal, maxSize)
		c.mu.Unlock()
		ids, err := c.fetch(c.client.context, size)
		more = c.acceptFetch(ids, err)
	}
}

// acceptFetch wakes the waiting callers, and reports whether to fetch more.
func (c *chain[T]) acceptFetch(ids []T, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.pending
	c.pending = nil
	if f.err = err; err == nil {
		c.client.count.fetched.Add(int64(len(ids)))
		c.addSegment(newSegment(ids))
	}
	if c.closed {
		f.err = ErrClosed
	}
	close(f.done)
	if f.err != nil || !c.needsFetch() {
		return false
	}
	c.pending = &fetch{done: make(chan struct{})}
	return true
}

func (c *chain[T]) addSegment(s *segment[T]) {
	c.ready = append(c.ready, s)
	if c.age > 0 {
		time.AfterFunc(c.age, func() { c.dropStale(s) })
	}
}

// dropStale drops a segment that is too old. If it had IDs left, it lowers the goal.
func (c *chain[T]) dropStale(s *segment[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch i := slices.Index(c.ready, s); {
	case c.closed:
		return
	case i >= 0:
		c.ready = slices.Delete(c.ready, i, i+1)
	case s.next.Add(int64(len(s.ids))) < 2*int64(len(s.ids)): // those left count as given
	default:
		return
	}
	c.goal = max(c.goal/2, 1)
}

// close drops all IDs.
func (c *chain[T]) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.ready = true, nil
	c.current.Store(newSegment[T](nil))
}
