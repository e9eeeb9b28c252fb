// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"

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
	clock   systemClock // only its Slept
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
	events  []Event // of firing, yet to be delivered
	buffer  [3]Event
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
		return nil, ErrClosed
	}
	index := s.freeIndex()
	g := &Group[T]{shard: s, contact: &s.blockAt(index / blockSize).contacts[index%blockSize], index: index, value: value, machine: newMachine(&s.mux.config, s.source)}
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

// serveTimer serves the groups until the shard is closed. A handler that ends the goroutine by
// runtime.Goexit, as testing's FailNow does, gets it replaced.
func (s *shard[T]) serveTimer() {
	done := false
	defer func() {
		if !done {
			go s.serveTimer()
		}
	}()
	for {
		s.serveDue()
		select {
		case <-s.timer.C:
		case <-s.ended:
			done = true
			close(s.gone)
			return
		}
	}
}

// serveDue does all that is due, and sets the timer.
func (s *shard[T]) serveDue() {
	s.turn.LockNow()
	defer s.turn.Unlock()
	s.planned = 0 // the timer is set at the end
	s.deliverEvents()
	for s.noticeSleep(); s.fireDue(); {
	}
	s.planNext()
}

// fireDue tells the groups of a suspend, if there was one, and looks at the blocks that are due. It returns
// true if the clock has stood still in between, so that the groups must be told first.
func (s *shard[T]) fireDue() (again bool) {
	for s.wakeNext() {
	}
	for now := s.mux.Now(); !s.closed; {
		if len(s.entries) == 0 && s.due == 0 {
			if s.noticeSleep(); s.slept != 0 || !s.popEntries(now) {
				return s.slept != 0
			}
		}
		s.lookAround(now)
		if s.due != 0 {
			now = s.fireNext(now)
		}
	}
	return false
}

// popEntries takes a block of entries that are due out of the wheel; it reports false if none is.
func (s *shard[T]) popEntries(now time.Duration) bool {
	s.entries, s.tick = s.wheel.Pop(uint64(now / s.mux.resolution))
	s.prefetch()
	return len(s.entries) > 0
}

// prefetch reads the blocks of all entries, one straight after the other, so that the processor
// waits for many at a time. All are cache misses: contacts have written them since.
func (s *shard[T]) prefetch() {
	for _, e := range s.entries {
		w := s.blockAt(e.Index)
		s.sum += w.contacts[0].Load() + int64(w.spans[0])
	}
}

// lookAround looks at one block after the other until something of one is due.
func (s *shard[T]) lookAround(now time.Duration) {
	for s.due == 0 && len(s.entries) > 0 {
		s.looked = s.entries[0].Index
		s.entries = s.entries[1:]
		if s.wakes[s.looked] != wakeAt(s.tick) {
			continue // an earlier entry has taken its place
		}
		s.wakes[s.looked] = 0
		due, next := s.blockAt(s.looked).lookUpDue(now)
		s.due = due
		if next != noDeadline {
			s.armBlock(s.looked, next)
		}
	}
}

// fireNext serves one of the groups that are due, and returns the present time.
func (s *shard[T]) fireNext(now time.Duration) time.Duration {
	i := uint32(bits.TrailingZeros8(s.due))
	s.due &^= 1 << i
	g := s.groups[s.looked*blockSize+i]
	switch deadline, ok := s.blockAt(s.looked).deadline(i); {
	case g == nil || !ok:
	case deadline > now: // a handler has changed it, or a goroutine that the handler waited for
		s.armBlock(s.looked, deadline)
	case s.fireGroup(g, now):
		return s.mux.Now()
	}
	return now
}

// fireGroup advances a group's machine, and reports whether the handler was called.
func (s *shard[T]) fireGroup(g *Group[T], now time.Duration) bool {
	g.learnContact()
	if deadline, ok := g.machine.NextDeadline(); ok && deadline > now { // a contact has come after the look
		s.updateBlock(g)
		return false
	}
	s.firing, s.events = g, g.machine.Advance(s.buffer[:0], now)
	if len(s.events) > 0 {
		g.contact.restartAt(now) // what fires counts from here
	}
	s.updateBlock(g)
	return s.deliverEvents()
}

// deliverEvents calls the handler for the events of the group that fires, and reports whether it did.
func (s *shard[T]) deliverEvents() (called bool) {
	for len(s.events) > 0 {
		g, e := s.firing, s.events[0]
		s.events = s.events[1:]
		g.learnContact()
		if g.state.Load() != closed && g.machine.IsCurrent(e) { // not so if the handler of an earlier event, or a contact during that handler, changed it
			s.turn.Call(g, func() { s.mux.callHandler(g, e) })
			called = true
		}
	}
	s.firing = nil
	return called
}

// noticeSleep finds out whether the clock has stood still while the machine was suspended.
func (s *shard[T]) noticeSleep() {
	if slept := s.clock.Slept(); slept > s.mux.config.StallThreshold {
		s.slept, s.woken = slept, 0
	}
}

// wakeNext notes the stall in one more group, and returns false after the last
// one.
func (s *shard[T]) wakeNext() bool {
	if s.slept == 0 || s.closed || s.woken == len(s.groups) {
		s.slept = 0
		return false
	}
	g := s.groups[s.woken]
	s.woken++
	if g == nil || g.machine.State() == (TimerState{}) {
		return true
	}
	g.learnContact()
	now := s.mux.Now()
	before, _ := g.machine.NextDeadline()
	s.firing, s.events = g, g.machine.NoteStall(s.buffer[:0], now, s.slept)
	if after, _ := g.machine.NextDeadline(); after != before {
		g.contact.restartAt(now) // the stall has put the election timeout off
	}
	g.keepAhead(now)
	s.updateBlock(g)
	s.deliverEvents()
	return true
}

// planNext sets the timer for the next entry.
func (s *shard[T]) planNext() {
	if s.closed {
		return
	}
	if tick, ok := s.wheel.Next(); ok {
		s.setTimer(tick)
		return
	}
	s.planned = never
	s.timer.Stop()
}

// wake is the tick of a block's entry in the wheel that counts: twice its last 31 bits, plus one. 0: there is none.
// The wheel may have other entries of the block, which were for later ticks.
type wake uint32

func wakeAt(tick uint64) wake { return wake(tick)<<1 | 1 }

// isBy reports whether there is an entry for the given tick or an earlier one. Both are at least now, and less
// than 2^31 ahead.
func (w wake) isBy(tick, now uint64) bool {
	const mask = 1<<31 - 1
	return w != 0 && (uint64(w>>1)-now)&mask <= tick-now
}
