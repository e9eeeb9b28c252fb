// SPDX-License-Identifier: Apache-2.0

package base

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// stubDB asks for compactions as the base does: what is refused waits, and
// while something waits it does not ask again.
type stubDB struct {
	scheduler *compactions
	mu        sync.Mutex
	left      int // compactions that it would run
	waiting   bool
	running   atomic.Int64
	most      atomic.Int64
	done      sync.WaitGroup
}

func (d *stubDB) GetAllowedWithoutPermission() int { return 1 }

func (d *stubDB) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = d.waiting && d.left > 0
	return d.waiting, pebble.WaitingCompaction{}
}

func (d *stubDB) Schedule(handle pebble.CompactionGrantHandle) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.waiting || d.left == 0 {
		d.waiting = false
		return false
	}
	d.run(handle)
	return true
}

// ask asks for what there is to do.
func (d *stubDB) ask() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.waiting && d.left > 0 {
		ok, handle := d.scheduler.TrySchedule()
		if !ok {
			d.waiting = true
			return
		}
		d.run(handle)
	}
}

// run begins a compaction. It is called with mu held.
func (d *stubDB) run(handle pebble.CompactionGrantHandle) {
	d.left--
	handle.Started()
	go func() {
		if n := d.running.Add(1); n > d.most.Load() {
			d.most.Store(n)
		}
		handle.CumulativeStats(pebble.CompactionGrantHandleStats{})
		d.running.Add(-1)
		handle.Done()
		d.done.Done()
	}()
}

func (d *stubDB) add(n int) {
	d.mu.Lock()
	d.left += n
	d.done.Add(n)
	d.mu.Unlock()
	d.ask()
}

// TestCompactions asks for compactions from many goroutines, before and after
// the base is open: all run, one at a time, none before.
func TestCompactions(t *testing.T) {
	c := newCompactions()
	d := &stubDB{scheduler: c}
	c.Register(2, d)
	d.add(3)
	if d.left != 3 {
		t.Fatalf("%d of 3 compactions are left before the base is open", d.left)
	}
	c.allow()
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			for range 200 {
				d.add(1)
			}
		})
	}
	askers.Wait()
	d.done.Wait() // hangs if one is forgotten
	if d.most.Load() != 1 {
		t.Errorf("%d compactions ran at once", d.most.Load())
	}
	c.Unregister()
	if ok, _ := c.TrySchedule(); ok {
		t.Error("a compaction is granted after the end")
	}
}
