// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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
