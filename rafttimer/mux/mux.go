// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"context"
	"log"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/internal/clock"
	"github.com/kazahana-db/kazahana/rafttimer/internal/turn"
)

// Mux runs the timers of many Raft groups. T is what the program knows a group by: a pointer to its
// replica, or its number. All methods are safe for concurrent use, and may be called by the
// handler.
type Mux[T any] struct {
	handler    func(*Group[T], rafttimer.Event)
	onPanic    func(*PanicError)
	timing     *rafttimer.Timing
	stall      time.Duration // Config.StallThreshold
	resolution time.Duration
	clock      clock.Clock // only its Now
	shards     []*shard[T]

	mu      sync.Mutex
	closed  bool
	release func() bool // ends the wait for the context
}

// New returns a Mux without groups. It is closed when ctx ends, or by [Mux.Close], which every Mux needs.
// The error is that of [Options.Validate].
//
// The handler is called for every event: one at a time for a group, and one at a time for all
// groups of a shard. While it runs, the other groups of the shard wait, so that it should only note
// what to do, or do it fast. It may call every method. If it panics, the timers go on; if it ends its goroutine by
// runtime.Goexit, another takes its place. A nil handler panics.
func New[T any](ctx context.Context, handler func(*Group[T], rafttimer.Event), o Options) (*Mux[T], error) {
	if handler == nil {
		panic("mux: New without a handler")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	timing, err := o.Config.Timing()
	if err != nil {
		return nil, err
	}
	m := &Mux[T]{
		handler: handler, onPanic: o.OnPanic, timing: timing, stall: timing.Config().StallThreshold,
		resolution: o.Resolution, clock: clock.New(),
	}
	for range o.Shards {
		m.shards = append(m.shards, newShard(m, rand.NewPCG(o.Source.Uint64(), o.Source.Uint64())))
	}
	for _, s := range m.shards {
		go s.serveTimer()
	}
	m.mu.Lock() // the context may end at once
	defer m.mu.Unlock()
	m.release = context.AfterFunc(ctx, func() { m.Close() })
	return m, nil
}

// NewGroup returns a group without a role, none of whose timers runs. It belongs to the shard that has the
// fewest. The error is [rafttimer.ErrClosed] after Close. Call [Group.Close] when the group leaves the process.
func (m *Mux[T]) NewGroup(value T) (*Group[T], error) {
	s := m.shards[0]
	for _, other := range m.shards[1:] {
		if other.live.Load() < s.live.Load() {
			s = other
		}
	}
	return s.addGroup(value)
}

// Len returns the number of groups that are not closed.
func (m *Mux[T]) Len() int {
	n := 0
	for _, s := range m.shards {
		n += int(s.live.Load())
	}
	return n
}

// Now returns the present time as events count it: since New.
func (m *Mux[T]) Now() time.Duration { return m.clock.Now() }

// Close closes all groups and stops the goroutines. When it returns, the handler does not run and no
// goroutine is left; from inside of the handler, once that has returned. Closing again does nothing.
// It returns nil.
func (m *Mux[T]) Close() error {
	m.close()
	if turn.InCallback() {
		return nil
	}
	for _, s := range m.shards {
		<-s.gone
	}
	return nil
}

func (m *Mux[T]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.release()
	for _, s := range m.shards {
		s.close()
	}
}

// callHandler calls the handler, and reports its panic.
func (m *Mux[T]) callHandler(g *Group[T], e rafttimer.Event) {
	defer func() {
		if v := recover(); v != nil {
			m.reportPanic(&PanicError{Group: g, PanicError: rafttimer.PanicError{Event: e, Value: v, Stack: debug.Stack()}})
		}
	}()
	m.handler(g, e)
}

func (m *Mux[T]) reportPanic(err *PanicError) {
	if m.onPanic != nil {
		m.onPanic(err)
		return
	}
	log.Printf("%v\n%s", err, err.Stack)
}
