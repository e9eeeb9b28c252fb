// SPDX-License-Identifier: Apache-2.0

// Package turn lets the owner of a lock run callbacks without it, so that no
// callback runs any more once a later caller has got the lock:
//
//	var t turn.Turn
//	t.Lock()                 // waits for a callback that runs
//	decide()
//	t.Call(func() { user() }) // the lock is free during the call, except for Lock
//	decideAnew()              // the callback may have changed everything
//	t.Unlock()
//
// A callback may call Lock, directly or through other functions, and does not wait
// for itself. Go has no re-entrant lock, so Lock recognises such a call by its
// stack.
package turn

import (
	"reflect"
	"runtime"
	"sync"
)

// Turn is a lock that also waits for callbacks. The zero value is unlocked.
type Turn struct {
	mu      sync.Mutex
	free    sync.Cond // no callback runs any more, or a ticket was served; each call of Lock that waits sets its L
	running int       // callbacks, of which all but one wait for those that they have called

	tickets uint64 // given to calls of Lock that wait
	served  uint64 // tickets of calls of Lock that have returned
}

// Lock locks t once no callback of t runs. A call from inside of any callback, of this Turn or
// of another, waits for none: two callbacks that stop each other's timers would wait for ever.
//
// Calls that wait are served in their order. Without the order, a goroutine that runs one callback
// after the other takes the lock again each time before a goroutine that waits has woken up.
func (t *Turn) Lock() {
	t.mu.Lock()
	if t.running == 0 && t.served == t.tickets || InCallback() {
		return
	}
	t.free.L = &t.mu
	ticket := t.tickets
	t.tickets++
	for t.running > 0 || t.served != ticket {
		t.free.Wait()
	}
	t.served++
	t.free.Broadcast() // the next ticket's turn comes with Unlock
}

// LockNow locks t without waiting for callbacks, for what stops none.
func (t *Turn) LockNow() { t.mu.Lock() }

// Unlock unlocks t.
func (t *Turn) Unlock() { t.mu.Unlock() }

// Call calls f, which is a callback, without the lock, and returns with it. The caller has locked t. What f
// panics with goes on to the caller, and so does runtime.Goexit, with the lock held.
func (t *Turn) Call(f func()) {
	t.running++
	t.mu.Unlock()
	defer t.endTurn()
	callback(f)
}

func (t *Turn) endTurn() {
	t.mu.Lock()
	t.running--
	t.free.Broadcast()
}

// callback is the mark on the stack of what runs inside of a callback.
//
//go:noinline
func callback(f func()) { f() }

// entry is where the function callback begins. Its name would not do: tools that
// obfuscate programs change it.
var entry = reflect.ValueOf(callback).Pointer()

// InCallback reports whether a callback of any Turn has called the caller. Goroutines
// that a callback started are not part of it.
func InCallback() bool {
	for skip := 2; ; {
		var pcs [64]uintptr
		n := runtime.Callers(skip, pcs[:])
		if holdsCallback(pcs[:n]) {
			return true
		}
		if n < len(pcs) {
			return false
		}
		skip += n
	}
}

func holdsCallback(pcs []uintptr) bool {
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		if frame.Entry == entry {
			return true
		}
		if !more {
			return false
		}
	}
}

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
