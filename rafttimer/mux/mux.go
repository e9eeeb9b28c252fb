// SPDX-License-Identifier: Apache-2.0

// Package mux runs the timers of many Raft groups in a few goroutines. With a
// [rafttimer.Driver] for each group, a process with 100,000 groups would need as
// many goroutines and system timers.
//
//	m, err := mux.New(ctx, func(g *mux.Group[*Replica], e rafttimer.Event) {
//		g.Value().Notify(e) // note what to do, and wake the replica's worker up
//	}, mux.Options{})
//	defer m.Close()
//
//	replica.timers, err = m.NewGroup(replica)
//	replica.timers.BecomeFollower()
//	replica.timers.Contact() // for each message of the leader
//
// A [Group] has the role changes, the contacts and the guarantees of a Driver, and
// a [rafttimer.Machine] of its own. It has no methods for single timers: its role
// decides which of them run.
//
// # Cost
//
// A contact changes one number: it takes no lock and sets no timer. At the earlier
// deadline the Mux finds the later one. So a live group costs one check per
// election timeout, not one per message; eight groups share a check. A stopped
// group costs nothing. A message for many groups needs one reading of the clock,
// see [Group.ContactAt].
//
// A Mux keeps about 30 bytes for each group of the largest number that it has had
// at a time, until it is garbage itself. New groups use them again.
//
// # Precision
//
// A hierarchical timing wheel keeps the deadlines: Varghese and Lauck, "Hashed and
// Hierarchical Timing Wheels: Data Structures for the Efficient Implementation of a
// Timer Facility", SOSP 1987. Its tick is Options.Resolution. An event never comes
// before its deadline, and at most one resolution after it, plus the lateness of
// the system's timer and of handlers that run before. Events of one tick come in
// any order.
//
// # Stalls
//
// If the machine was suspended for longer than Config.StallThreshold, every group
// with running timers gets a [rafttimer.Stall]. If the process stood still for another
// reason, or a handler blocked its shard, the groups get one if their deadlines passed
// that long ago.
package mux

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/internal/clock"
	"github.com/kazahana-db/kazahana/rafttimer/internal/turn"
)

// Bounds of [Options].
const (
	MaxShards     = 1024
	MaxResolution = time.Second

	maxDefaultShards     = 4
	maxDefaultResolution = 10 * time.Millisecond
)

// Options configure a [Mux]. The zero value is ready to use.
type Options struct {
	// Config says how long the timers of all groups run.
	Config rafttimer.Config

	// Shards is the number of goroutines, each with a timer and a lock of its own, at most MaxShards.
	// Each calls the handler for its groups. The default value is the number of processors that Go
	// uses, but not more than 4.
	Shards int

	// Resolution is the time between two looks at what is due: an event comes up to this much after its deadline,
	// and never before. A longer one costs less, as each look has its price. It is at most HeartbeatInterval,
	// and at most MaxResolution. The default value is a fifth of HeartbeatInterval, but not more than 10 ms.
	Resolution time.Duration

	// Source is what the seeds of the election timeouts are drawn from, by New. The default value is
	// seeded at random.
	Source rand.Source

	// OnPanic is called if the handler panics; the timers go on. The default value prints value and
	// stack with package log. A panic of OnPanic itself is not recovered.
	OnPanic func(*rafttimer.PanicError)
}

// Validate reports all faults of the options, joined, each with the name of its field.
func (o Options) Validate() error {
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
	if interval := heartbeatInterval(o.Config); interval > 0 {
		add(o.Resolution > interval, "Resolution", o.Resolution, "must be at most HeartbeatInterval, "+interval.String())
	}
	return errors.Join(faults...)
}

// heartbeatInterval returns that of a Config with its defaults; 0 if it has faults.
func heartbeatInterval(c rafttimer.Config) time.Duration {
	timing, err := c.Timing()
	if err != nil {
		return 0
	}
	return timing.Config().HeartbeatInterval
}

// withDefaults returns valid options with a value in every field but OnPanic.
func (o Options) withDefaults() Options {
	if o.Shards == 0 {
		o.Shards = min(runtime.GOMAXPROCS(0), maxDefaultShards)
	}
	if o.Resolution == 0 {
		o.Resolution = max(1, min(heartbeatInterval(o.Config)/5, maxDefaultResolution))
	}
	if o.Source == nil {
		o.Source = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	return o
}

// Mux runs the timers of many Raft groups. T is what the program knows a group by: a pointer to its
// replica, or its number. All methods are safe for concurrent use, and may be called by the
// handler.
type Mux[T any] struct {
	handler    func(*Group[T], rafttimer.Event)
	onPanic    func(*rafttimer.PanicError)
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

// NewGroup returns a group without a role or a running timer. It belongs to the shard that has the
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
			m.reportPanic(&rafttimer.PanicError{Event: e, Group: g, Value: v, Stack: debug.Stack()})
		}
	}()
	m.handler(g, e)
}

func (m *Mux[T]) reportPanic(err *rafttimer.PanicError) {
	if m.onPanic != nil {
		m.onPanic(err)
		return
	}
	log.Printf("%v\n%s", err, err.Stack)
}
