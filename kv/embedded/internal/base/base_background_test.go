// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

func openTest(t *testing.T, fs vfs.FS, f *fault.Fault) *Base {
	t.Helper()
	b, err := Open("base", Options{Fs: fs, CacheSize: 1 << 20, MemTable: 1 << 20}, f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRepeats flushes while no table can be written: the base waits longer before each
// repetition, and fails in the end.
func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpCreate && len(op.Path) > 4 && op.Path[len(op.Path)-4:] == ".sst" {
				tries = append(tries, time.Now())
				return errorfs.ErrInjected
			}
			return nil
		}))
		f := fault.New()
		b := openTest(t, fs, f)
		batch, err := b.NewBatch()
		if err == nil {
			err = batch.Finish(1)
		}
		if err == nil {
			err = batch.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		if flushed, err := b.Flush(nil); flushed || err != nil {
			t.Errorf("Flush: %t, %v", flushed, err)
		}
		if err := f.Get(); !errors.Is(err, errorfs.ErrInjected) {
			t.Errorf("the fault is %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if len(tries) != mostFailures+1 {
			t.Fatalf("%d tries, want %d", len(tries), mostFailures+1)
		}
		var waits []time.Duration
		for i := range tries[1:] {
			waits = append(waits, tries[i+1].Sub(tries[i]))
		}
		if !slices.IsSorted(waits) || waits[0] != firstRepeat || waits[len(waits)-1] != longestRepeat {
			t.Errorf("the waits are %v", waits)
		}
	})
}

// manyFaults is an error that cannot be compared.
type manyFaults []string

func (m manyFaults) Error() string { return "many faults" }

// A failed compaction is told twice, and a flush may fail with the same error. File systems
// of programs have errors of any type.
func TestWhatHasFailed(t *testing.T) {
	for name, tt := range map[string]struct {
		err                 error
		compaction, flushes int64
	}{
		"comparable":   {errorfs.ErrInjected, 1, 1},
		"incomparable": {manyFaults{"a", "b"}, 0, 2}, // which of both has failed is not known
	} {
		synctest.Test(t, func(t *testing.T) {
			b := openTest(t, vfs.NewMem(), fault.New())
			l := b.listener()
			l.CompactionEnd(pebble.CompactionInfo{Err: tt.err})
			l.BackgroundError(tt.err)
			l.BackgroundError(tt.err)
			if compactions, flushes := b.compacting.inRow.Load(), b.flushing.inRow.Load(); compactions != tt.compaction || flushes != tt.flushes {
				t.Errorf("%s: %d compactions and %d flushes have failed, want %d and %d", name, compactions, flushes, tt.compaction, tt.flushes)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFormat makes a base: its format is the one that docs/layout.md names, whatever
// Pebble's newest is.
func TestFormat(t *testing.T) {
	fs := vfs.NewMem()
	if err := openTest(t, fs, fault.New()).Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("base")
	if err != nil || !slices.Contains(names, "marker.format-version.000011.024") {
		t.Errorf("the base has %q, %v", names, err)
	}
	if formatOfBase > pebble.FormatNewest {
		t.Errorf("Pebble knows formats up to %d", pebble.FormatNewest)
	}
}

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
