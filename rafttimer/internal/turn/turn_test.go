// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// InCallback finds the callback at any depth, and only there.
func TestInCallback(t *testing.T) {
	var turn Turn
	var deep func(n int) bool
	deep = func(n int) bool {
		if n == 0 {
			return InCallback()
		}
		return deep(n - 1)
	}
	for _, n := range []int{0, 1, 60, 61, 62, 63, 64, 65, 126, 127, 128, 1000} {
		if deep(n) {
			t.Errorf("outside, %d calls deep: found", n)
		}
		turn.Lock()
		turn.Call(func() {
			if !deep(n) {
				t.Errorf("inside, %d calls deep: not found", n)
			}
			var elsewhere sync.WaitGroup
			elsewhere.Go(func() {
				if deep(n) {
					t.Error("found in a goroutine that the callback started")
				}
			})
			elsewhere.Wait()
		})
		turn.Unlock()
	}
}

// Lock waits for the callback, LockNow does not, and the callback itself waits
// for nothing.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn Turn
		begin := time.Now()
		go func() {
			turn.Lock()
			defer turn.Unlock()
			turn.Call(func() {
				turn.Lock()
				turn.Call(func() { time.Sleep(time.Second) })
				turn.Unlock()
				time.Sleep(time.Second)
			})
		}()
		synctest.Wait()
		turn.LockNow()
		turn.Unlock()
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("LockNow waited %v", waited)
		}
		turn.Lock()
		defer turn.Unlock()
		if waited := time.Since(begin); waited != 2*time.Second {
			t.Errorf("Lock waited %v", waited)
		}
	})
}

// Calls of Lock are served in their order, before the next callback, although a
// goroutine runs one callback after the other.
func TestLockIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn Turn
		callbacks := 0
		runCallback := func() {
			turn.Lock()
			defer turn.Unlock()
			turn.Call(func() { callbacks++; time.Sleep(time.Second) })
		}
		var order, began []int
		var all sync.WaitGroup
		all.Go(func() {
			for range 100 {
				runCallback()
			}
		})
		time.Sleep(time.Second / 2) // into the middle of the first callback
		for n := range 5 {
			synctest.Wait()
			all.Go(func() {
				turn.Lock()
				defer turn.Unlock()
				order, began = append(order, n), append(began, callbacks)
			})
		}
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || !slices.Equal(began, []int{1, 1, 1, 1, 1}) {
			t.Errorf("the lock was got in the order %v, after %v callbacks", order, began)
		}
	})
}

// A callback that panics ends its call all the same.
func TestPanic(t *testing.T) {
	var turn Turn
	turn.Lock()
	func() {
		defer func() { recover() }()
		turn.Call(func() { panic("") })
	}()
	turn.Unlock()
	turn.Lock() // would wait for ever
	defer turn.Unlock()
}

// TestShared checks that an owner waits for its own callback, and for nothing else.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s SharedTurn[int]
		go func() {
			s.LockNow()
			defer s.Unlock()
			defer func() { recover() }()
			s.Call(1, func() {
				s.Lock(1) // a callback does not wait for itself
				s.Unlock()
				time.Sleep(time.Hour)
				panic("a fault, after which the lock is held again")
			})
		}()
		synctest.Wait()
		begun := time.Now()
		for _, lock := range []func(){s.LockNow, func() { s.Lock(2) }} {
			lock()
			s.Unlock()
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("another owner has waited %v", took)
		}
		for range 3 {
			go func() {
				s.Lock(1)
				s.Unlock()
			}()
		}
		s.Lock(1)
		s.Unlock()
		if took := time.Since(begun); took != time.Hour {
			t.Errorf("the owner has waited %v, want an hour", took)
		}
		synctest.Wait() // all calls of Lock have returned, or the bubble would not end
	})
}

// A goroutine that runs one callback of an owner after the other, and keeps the lock in between, lets
// a call of Lock through that waited for the first.
func TestSharedLockComesBetweenCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s SharedTurn[int]
		callbacks := 0
		var began []int
		var all sync.WaitGroup
		all.Go(func() {
			s.LockNow()
			defer s.Unlock()
			for range 100 {
				s.Call(1, func() { callbacks++; time.Sleep(time.Second) })
			}
		})
		time.Sleep(time.Second / 2) // into the middle of the first callback
		for range 5 {
			all.Go(func() {
				s.Lock(1)
				defer s.Unlock()
				began = append(began, callbacks)
			})
		}
		all.Wait()
		if !slices.Equal(began, []int{1, 1, 1, 1, 1}) {
			t.Errorf("the lock was got after %v callbacks", began)
		}
	})
}
