// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// commitUntilError commits numbered transactions until one fails. It returns how
// many succeeded.
func commitUntilError(t *testing.T, db *Database) (acknowledged int) {
	t.Helper()
	for commitNumbered(t, db, acknowledged+1) == nil {
		if acknowledged++; acknowledged == 2000 {
			t.Fatal("nothing has failed")
		}
	}
	return acknowledged
}

// TestMendBeforeClose lets the disk run full within a record of the log, and makes
// room before the database is closed: Close writes then, and what it writes must
// not count the part of the record to the log.
func TestMendBeforeClose(t *testing.T) {
	random := seed.Rand(t)
	for _, lazy := range []bool{false, true} {
		for range 20 {
			disk := newSmallDisk(1 << 30)
			o := Options{FS: disk, NoSync: lazy, noAbsorb: true}
			db := openTest(t, o)
			disk.room.Store(1000 + random.Int64N(3000))
			acknowledged := commitUntilError(t, db)
			disk.room.Store(1 << 30)
			_ = db.Close() // it may say what has failed
			db = openTest(t, o)
			if last := checkNumbered(t, db); last != acknowledged && last != acknowledged+1 {
				t.Fatalf("transaction %d is the last, %d was acknowledged", last, acknowledged)
			}
			closeTest(t, db)
		}
	}
}

// TestNoSyncAfterAFailedOne lets one sync of the log fail. A later one may succeed
// although the disk has dropped what the first was to bring to it, so nothing is
// built upon one: the log is neither synced again nor ended by another file.
func TestNoSyncAfterAFailedOne(t *testing.T) {
	var armed, failed, later atomic.Bool
	fs := newFaultyFS(vfs.NewMem(), func(op errorfs.Op) bool {
		switch {
		case failed.Load() && onLog(errorfs.OpFileSyncData, errorfs.OpFileSync, errorfs.OpCreate, errorfs.OpFileWrite)(op):
			later.Store(true)
		case !failed.Load() && armed.Load() && onLog(errorfs.OpFileSyncData)(op):
			failed.Store(true)
			return true
		}
		return false
	})
	fs.left.Store(0)
	db := openTest(t, Options{FS: fs, noAbsorb: true})
	if err := commitNumbered(t, db, 1); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if err := commitNumbered(t, db, 2); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("the commit gets %v", err)
	}
	_ = db.Close() // it may say what has failed
	if later.Load() {
		t.Error("the log was written to or synced after a sync had failed")
	}
	db = openTest(t, Options{FS: fs, noAbsorb: true})
	if last := checkNumbered(t, db); last < 1 {
		t.Errorf("transaction %d is the last, 1 was acknowledged", last)
	}
	closeTest(t, db)
}

// TestSlowDiskAndMetrics lets the disk hang while the log is synced, and while a segment
// is removed: the metrics do not wait for it, nor do commits for the removal.
func TestSlowDiskAndMetrics(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"a sync": errorfs.OpFileSyncData, "a removal": errorfs.OpRename} {
		t.Run(name, func(t *testing.T) {
			disk := newColdDisk(func(op errorfs.Op) bool {
				return onLog(kind)(op) && !strings.Contains(op.Path, "spare-")
			})
			o := crashOptions(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.inject)), false)
			o.noAbsorb = true
			db := openTest(t, o)
			defer closeTest(t, db)
			defer disk.block(false)
			if err := commitNumbered(t, db, 1); err != nil {
				t.Fatal(err)
			}
			disk.block(true)
			if kind == errorfs.OpRename {
				go func() { _ = db.disk.log.Drop(db.disk.log.LastVersion()) }()
			} else {
				go func() { _ = commitNumberedIn(context.Background(), db, 2) }()
			}
			disk.await(t, 1)
			within(t, "the metrics", func() { db.Metrics() })
			if kind == errorfs.OpRename {
				within(t, "a commit", func() { _ = commitNumberedIn(context.Background(), db, 2) })
			}
		})
	}
}

// within calls do, and fails the test if that hangs.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-bounded(t).Done():
		t.Fatalf("%s: the call hangs", what)
	}
}
