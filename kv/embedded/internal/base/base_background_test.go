// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"slices"
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
