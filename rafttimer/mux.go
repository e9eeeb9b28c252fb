// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer/internal/turn"
)

// Bounds of [MuxOptions].
const (
	MaxShards     = 1024
	MaxResolution = time.Second

	maxDefaultShards     = 4
	maxDefaultResolution = 10 * time.Millisecond
)

// MuxOptions configure a [Mux]. The zero value is ready to use.
type MuxOptions struct {
	// Config says how long the timers of all groups run.
	Config Config

	// Shards is the number of goroutines, each with a timer and a lock of its own, at most MaxShards.
	// Each calls the handler for its groups. The default value is the number of processors that Go
	// uses, but not more than 4.
	Shards int

	// Resolution is the time between two looks at what is due: an event comes up to this much after its deadline,
	// and never before. A longer one costs less, as each look has its price. It is at most HeartbeatInterval,
	// and at most MaxResolution. The default value is a fifth of HeartbeatInterval, but not more than 10 ms.
	Resolution time.Duration

	// Source is what the seeds of the election timeouts are drawn from, by NewMux. The default value is
	// seeded at random.
	Source rand.Source

	// OnPanic is called if the handler panics, with the group and the event that it was called with, the
	// value of the panic and the stack of its goroutine; the timers go on. The group is a *[Group] of the
	// Mux. The default value prints the rest with package log. A panic of OnPanic itself is not
	// recovered.
	OnPanic func(group any, e Event, value any, stack []byte)
}

// Validate reports all faults of the options, joined, each with the name of its field.
func (o MuxOptions) Validate() error {
	faults := []error{o.Config.Validate()}
	add := func(when bool, field string, value any, reason string) {
		if when {
			faults = append(faults, fmt.Errorf("mux: %s is %v: it %s", field, value, reason))
		}
	}
	add(o.Shards < 0, "Shards", o.Shards, "must not be negative")
	add(o.Shards > MaxShards, "Shards", o.Shards, "must be at most 1024: a shard is a goroutine for many groups")
	add(o.Resolution < 0, "Resolution", o.Resolution, "must not be negative")
	add(o.Resolution > MaxResolution, "Resolution", o.Resolution, "must be at most a second")
	if c, err := o.Config.WithDefaults(); err == nil {
		interval := c.HeartbeatInterval
		add(o.Resolution > interval, "Resolution", o.Resolution, "must be at most HeartbeatInterval, "+interval.String())
	}
	return errors.Join(faults...)
}

// withDefaults returns valid options with a value in every field.
func (o MuxOptions) withDefaults() MuxOptions {
	o.Config = o.Config.withDefaults()
	if o.Shards == 0 {
		o.Shards = min(runtime.GOMAXPROCS(0), maxDefaultShards)
	}
	if o.Resolution == 0 {
		o.Resolution = max(1, min(o.Config.HeartbeatInterval/5, maxDefaultResolution))
	}
	if o.Source == nil {
		o.Source = newSource()
	}
	if o.OnPanic == nil {
		o.OnPanic = func(_ any, e Event, value any, stack []byte) { logPanic(e, value, stack) }
	}
	return o
}

// Mux runs the timers of many Raft groups. T is what the program knows a group by: a pointer to its
// replica, or its number. All methods are safe for concurrent use, and may be called by the
// handler.
type Mux[T any] struct {
	handler    func(*Group[T], Event)
	onPanic    func(group any, e Event, value any, stack []byte)
	config     Config // complete; all machines share it
	resolution time.Duration
	clock      systemClock // only its Now
	shards     []*shard[T]

	mu      sync.Mutex
	closed  bool
	release func() bool // ends the wait for the context
}

// NewMux returns a Mux without groups. It is closed when ctx ends, or by [Mux.Close], which every Mux needs.
// The error is that of [MuxOptions.Validate].
//
// The handler is called for every event: one at a time for a group, and one at a time for all
// groups of a shard. While it runs, the other groups of the shard wait, so that it should only note
// what to do, or do it fast. It may call every method. If it panics, the timers go on; if it ends its goroutine by
// runtime.Goexit, another takes its place. A nil handler panics.
func NewMux[T any](ctx context.Context, handler func(*Group[T], Event), o MuxOptions) (*Mux[T], error) {
	if handler == nil {
		panic("rafttimer: NewMux without a handler")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m := &Mux[T]{handler: handler, onPanic: o.OnPanic, config: o.Config, resolution: o.Resolution, clock: newClock()}
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

// NewGroup returns a group without a role or a running timer. It belongs to the shard that has the
// fewest. The error is [ErrClosed] after Close. Call [Group.Close] when the group leaves the process.
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

// Now returns the present time as events count it: since NewMux.
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
func (m *Mux[T]) callHandler(g *Group[T], e Event) {
	defer func() {
		if v := recover(); v != nil {
			m.onPanic(g, e, v, debug.Stack())
		}
	}()
	m.handler(g, e)
}
