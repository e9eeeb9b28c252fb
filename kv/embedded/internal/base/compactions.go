// SPDX-License-Identifier: Apache-2.0

package base

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactions decides when the base compacts: one compaction at a time, and none
// before it is open. An opening that fails gives back what a compaction needs,
// so that one under way would end the process.
type compactions struct {
	db pebble.DBForCompaction // set before anything is asked

	mu       sync.Mutex
	changed  sync.Cond // granting has become false
	open     bool
	busy     bool // a compaction runs or is about to
	granting bool // a goroutine asks the base what to run
	again    bool // and must ask once more
	resting  bool // the last one has failed, and the next one waits
}

func newCompactions() *compactions {
	c := new(compactions)
	c.changed.L = &c.mu
	return c
}

// Register implements [pebble.CompactionScheduler].
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister implements [pebble.CompactionScheduler].
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	for c.granting {
		c.changed.Wait()
	}
}

// forbid lets no more compactions begin.
func (c *compactions) forbid() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
}

// allow lets compactions begin: the base is open.
func (c *compactions) allow() {
	c.mu.Lock()
	c.open = true
	c.mu.Unlock()
	c.grant()
}

// rest lets no compaction begin for a while, after one has failed.
func (c *compactions) rest(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting = d > 0; c.resting {
		time.AfterFunc(d, c.wakeUp)
	}
}

// wakeUp ends a rest.
func (c *compactions) wakeUp() {
	c.mu.Lock()
	c.resting = false
	c.mu.Unlock()
	c.grant()
}

// TrySchedule implements [pebble.CompactionScheduler]. What is refused waits
// until it is granted.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || c.busy || c.resting {
		c.again = true
		return false, nil
	}
	c.busy = true
	return true, grantedCompaction{c}
}

// UpdateGetAllowedWithoutPermission implements [pebble.CompactionScheduler].
func (c *compactions) UpdateGetAllowedWithoutPermission() {} // it is always one

// grant asks the base what it would run of that which was refused, and lets it.
func (c *compactions) grant() {
	c.mu.Lock()
	c.again = true
	c.mu.Unlock()
	for c.reserve() {
		waiting, _ := c.db.GetWaitingCompaction()
		c.endReservation(waiting && c.db.Schedule(grantedCompaction{c}))
	}
}

// reserve takes the place of a compaction, if one may be granted.
func (c *compactions) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || c.busy || c.granting || c.resting || !c.again {
		return false
	}
	c.busy, c.granting, c.again = true, true, false
	return true
}

// endReservation gives the place back if the base did not take it. One that did may
// already be done.
func (c *compactions) endReservation(taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granting = false
	c.changed.Broadcast()
	if !taken {
		c.busy = false
	}
}

// grantedCompaction is a compaction that runs.
type grantedCompaction struct{ c *compactions }

// Started implements [pebble.CompactionGrantHandle].
func (grantedCompaction) Started() {}

// MeasureCPU implements [pebble.CompactionGrantHandle].
func (grantedCompaction) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements [pebble.CompactionGrantHandle].
func (grantedCompaction) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements [pebble.CompactionGrantHandle].
func (g grantedCompaction) Done() {
	g.c.mu.Lock()
	g.c.busy = false
	g.c.mu.Unlock()
	g.c.grant()
}
