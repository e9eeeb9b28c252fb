// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
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
