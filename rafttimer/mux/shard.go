// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/internal/clock"
	"github.com/kazahana-db/kazahana/rafttimer/internal/turn"
	"github.com/kazahana-db/kazahana/rafttimer/internal/wheel"
)

const (
	never      = math.MaxUint64 // a tick
	noDeadline = time.Duration(math.MaxInt64)
)

// chunk is the number of blocks that are allocated at once: 16 KiB of them.
const chunk = 128

// shard has a share of the groups, and serves them in one goroutine with one timer.
//
// A block of groups has one entry in the wheel that counts. A contact leaves it alone: the entry comes up at
// its old deadline, and is set anew. So does a role change that moves the deadline back.
type shard[T any] struct {
	mux   *Mux[T]
	ended chan struct{} // closed by close
	gone  chan struct{} // closed by the goroutine's end
	_     [64]byte      // the fields above are read by each Contact, those below are written often

	live atomic.Int32 // groups that are not closed

	turn    turn.SharedTurn[*Group[T]] // guards what follows
	closed  bool
	source  *rand.PCG
	clock   clock.Clock // only its Slept
	timer   *time.Timer
	planned uint64 // the tick for which timer is set; 0 while the goroutine serves
	wheel   wheel.Wheel
	groups  []*Group[T] // by index; nil: closed
	free    []uint32    // indexes of closed groups
	blocks  []*[chunk]groupBlock
	wakes   []wake // of blocks
	sum     int64  // of what prefetch reads, so that it is read

	// What the goroutine has begun with, and another goes on with if the handler ends this one.
	entries []wheel.Entry // yet to be looked at
	tick    uint64        // of entries
	looked  uint32        // the block that was looked at
	due     uint8         // groups of it, yet to be served
	firing  *Group[T]
	events  []rafttimer.Event // of firing, yet to be delivered
	buffer  [3]rafttimer.Event
	slept   time.Duration // how long the clock stood still
	woken   int           // groups up to this index know of it
}

func newShard[T any](m *Mux[T], source *rand.PCG) *shard[T] {
	s := &shard[T]{
		mux: m, ended: make(chan struct{}), gone: make(chan struct{}),
		source: source, clock: m.clock, timer: time.NewTimer(time.Hour), planned: never,
	}
	s.timer.Stop()
	return s
}

// addGroup returns a new group.
func (s *shard[T]) addGroup(value T) (*Group[T], error) {
	s.turn.LockNow()
	defer s.turn.Unlock()
	if s.closed {
		return nil, rafttimer.ErrClosed
	}
	index := s.freeIndex()
	g := &Group[T]{shard: s, contact: &s.blockAt(index / blockSize).contacts[index%blockSize], index: index, value: value, machine: s.mux.timing.Machine(s.source)}
	g.contact.Store(0) // it was another's
	s.groups[index] = g
	s.live.Add(1)
	return g, nil
}

// freeIndex returns an index that is free.
func (s *shard[T]) freeIndex() uint32 {
	if last := len(s.free) - 1; last >= 0 {
		index := s.free[last]
		s.free = s.free[:last]
		return index
	}
	if len(s.groups)%(blockSize*chunk) == 0 {
		s.blocks = append(s.blocks, new([chunk]groupBlock))
		s.wakes = append(s.wakes, make([]wake, chunk)...)
	}
	s.groups = append(s.groups, nil)
	return uint32(len(s.groups) - 1)
}

// blockAt returns the block of eight indexes of groups.
func (s *shard[T]) blockAt(index uint32) *groupBlock { return &s.blocks[index/chunk][index%chunk] }

// removeGroup closes a group. Its entry in the wheel stays, and serves the next group of that index.
func (s *shard[T]) removeGroup(g *Group[T]) {
	g.state.Store(closed)
	g.machine.StopAll()
	s.blockAt(g.index / blockSize).spans[g.index%blockSize] = 0
	s.groups[g.index] = nil
	s.free = append(s.free, g.index)
	s.live.Add(-1)
}

// close closes all groups, and ends the goroutine.
func (s *shard[T]) close() {
	s.turn.LockNow()
	defer s.turn.Unlock()
	s.closed = true
	for _, g := range s.groups {
		if g != nil {
			s.removeGroup(g)
		}
	}
	s.timer.Stop()
	close(s.ended)
}

// updateBlock follows a change of a group's machine.
func (s *shard[T]) updateBlock(g *Group[T]) {
	to, deadline, state := g.planLook()
	if state == backoff {
		g.state.Store(backoff)
		g.learnContact() // one that was noted before it could see the state
		to, deadline, state = g.planLook()
	}
	g.state.Store(state)
	s.blockAt(g.index / blockSize).spans[g.index%blockSize] = to
	if to != 0 {
		s.armBlock(g.index/blockSize, deadline)
	}
}

// armBlock has a block looked at at a deadline, or earlier.
func (s *shard[T]) armBlock(index uint32, deadline time.Duration) {
	now := s.wheel.Now()
	tick := max(now+1, uint64((deadline+s.mux.resolution-1)/s.mux.resolution))
	if s.wakes[index].isBy(tick, now) {
		return
	}
	tick = s.wheel.Push(index, tick)
	s.wakes[index] = wakeAt(tick)
	if tick < s.planned {
		s.setTimer(tick)
	}
}

// setTimer has the goroutine woken up at a tick.
func (s *shard[T]) setTimer(tick uint64) {
	if s.planned == never {
		s.clock.Slept() // while there was nothing to do does not count
	}
	s.planned = tick
	s.timer.Reset(time.Duration(tick)*s.mux.resolution - s.mux.Now())
}
