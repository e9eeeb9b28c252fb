// SPDX-License-Identifier: Apache-2.0

package turn

import "sync"

// SharedTurn is a lock that many owners share. One of their callbacks runs at a
// time. An owner waits for its own callback only, as with a [Turn] of its own.
// The zero value is unlocked.
type SharedTurn[Owner comparable] struct {
	mu      sync.Mutex
	ended   sync.Cond // the callback has ended; its L is set by each call that waits
	passed  sync.Cond // the calls that waited for ended have returned; its L is set with ended's
	owner   Owner     // of the callback that runs; the zero value if none does
	waiting int       // calls of Lock that wait for ended
}

// Lock locks s once no callback of the owner runs. A call from inside of any callback does not wait,
// as with [Turn.Lock].
func (s *SharedTurn[Owner]) Lock(o Owner) {
	s.mu.Lock()
	if s.owner != o || InCallback() {
		return
	}
	s.ended.L, s.passed.L = &s.mu, &s.mu
	s.waiting++
	for s.owner == o {
		s.ended.Wait()
	}
	if s.waiting--; s.waiting == 0 {
		s.passed.Signal()
	}
}

// LockNow locks s without waiting for callbacks, for what stops none.
func (s *SharedTurn[Owner]) LockNow() { s.mu.Lock() }

// Unlock unlocks s.
func (s *SharedTurn[Owner]) Unlock() { s.mu.Unlock() }

// Call calls f, which is a callback of the owner, as [Turn.Call] does. Calls of Lock that wait for the
// callback get the lock before Call returns with it: a goroutine that runs one callback after the other
// does not keep them waiting. Calls do not overlap, and the owner is not the zero value.
func (s *SharedTurn[Owner]) Call(o Owner, f func()) {
	s.owner = o
	s.mu.Unlock()
	defer s.endTurn()
	callback(f)
}

func (s *SharedTurn[Owner]) endTurn() {
	s.mu.Lock()
	var none Owner
	s.owner = none
	if s.waiting > 0 {
		s.ended.Broadcast()
	}
	for s.waiting > 0 {
		s.passed.Wait()
	}
}
