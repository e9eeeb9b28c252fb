// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// What Pebble does in the background is repeated if it fails: it has written other files
// than those that count, and the log has what the base lacks. Pebble repeats it at once,
// for ever. So the base waits before each repetition, twice as long each time, and fails
// after mostFailures in a row: some ten seconds. Errors of the table of contents are not
// repeated: see [baseFS].
const (
	mostFailures  = 12
	firstRepeat   = 10 * time.Millisecond
	longestRepeat = 2 * time.Second
)

// failures counts those in a row of one kind of work.
type failures struct{ inRow atomic.Int64 }

// note notes that the work has failed, or ended well if err is nil. It returns how long
// to wait before it is repeated, and whether it may be.
func (f *failures) note(err error, first time.Duration) (wait time.Duration, again bool) {
	if err == nil {
		f.inRow.Store(0)
		return 0, true
	}
	n := f.inRow.Add(1)
	return f.wait(first), n <= mostFailures
}

// wait returns how long the next repetition is to wait; 0 if nothing has failed.
func (f *failures) wait(first time.Duration) time.Duration {
	n := f.inRow.Load()
	if n == 0 {
		return 0
	}
	return max(min(first<<min(n-1, mostFailures), longestRepeat), 0)
}

// listener returns what Pebble tells of its work. It holds its locks while it does.
func (b *Base) listener() *pebble.EventListener {
	var compaction error // the last one that was told; with Pebble's lock held
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			switch {
			case errors.Is(err, pebble.ErrCancelledCompaction):
			case errors.Is(err, compaction): // == would panic where a file system's error cannot be compared
				compaction = nil // a flush may fail with the same error
				wait, again := b.compacting.note(err, b.firstRepeat)
				if b.compactions.rest(wait); !again {
					b.fail(err)
				}
			default:
				if _, again := b.flushing.note(err, b.firstRepeat); !again {
					b.fail(err)
				}
			}
		},
		DataCorruption: func(pebble.DataCorruptionInfo) {}, // the reader gets an error
		FlushEnd: func(info pebble.FlushInfo) {
			if info.Err == nil {
				b.flushing.note(nil, 0)
			}
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if compaction = info.Err; compaction == nil {
				b.compacting.note(nil, 0)
			}
			select {
			case b.compacted <- struct{}{}:
			default:
			}
		},
	}
}

// awaitRepeat waits before a table is written, if the last flush has failed.
func (b *Base) awaitRepeat() {
	wait := b.flushing.wait(b.firstRepeat)
	if wait == 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.failed:
	case <-b.closing:
	}
}

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

// What follows is for tests of the packages above: they look at the base, and bring
// about moments that are rare.

// Store returns the Pebble store.
func (b *Base) Store() *pebble.DB { return b.db }

// CompactAll compacts all tables.
func (b *Base) CompactAll(ctx context.Context) error {
	return b.db.Compact(ctx, []byte{ownSpace}, []byte{spaceEnd}, false)
}

// IsSealed reports whether the base has failed and writes nothing more.
func (b *Base) IsSealed() bool { return b.fs.sealed() }

// OldestReaderVersion returns the version below which readers are too old.
func (b *Base) OldestReaderVersion() int64 { return b.oldestReader.Load() }

// RowBytes returns the size of the row cache.
func (b *Base) RowBytes() int64 { return b.rows.size() }

// AddRow adds to the row cache what a ticket's holder has read.
func (b *Base) AddRow(t reads.Ticket, key, value []byte) { b.rows.add(t, key, value, true) }

// HoldRows keeps the row cache from changing until resume is called.
func (b *Base) HoldRows() (resume func()) {
	c := b.rows
	c.mu.Lock()
	for i := range c.parts {
		c.parts[i].mu.Lock()
	}
	return sync.OnceFunc(func() {
		c.mu.Unlock()
		for i := range c.parts {
			c.parts[i].mu.Unlock()
		}
	})
}
