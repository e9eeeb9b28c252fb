// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// faultyFS is a file system. Once armed, its n-th operation of the wanted kind
// and all that follow fail.
type faultyFS struct {
	vfs.FS
	wanted func(errorfs.Op) bool
	left   atomic.Int64 // operations until the first that fails
	hits   atomic.Int64
}

func newFaultyFS(fs vfs.FS, wanted func(errorfs.Op) bool) *faultyFS {
	f := &faultyFS{wanted: wanted}
	f.left.Store(1 << 40)
	f.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f.wanted(op) && f.left.Add(-1) < 0 {
			f.hits.Add(1)
			return errorfs.ErrInjected
		}
		return nil
	}))
	return f
}

// The ways in which the disk fails.
var failures = map[string]func(errorfs.Op) bool{
	"log write":    onLog(errorfs.OpFileWrite),
	"log sync":     onLog(errorfs.OpFileSyncData),
	"log creation": onLog(errorfs.OpCreate, errorfs.OpOpen),
	"log header":   onLog(errorfs.OpFileSync),
	"log removal":  onLog(errorfs.OpRemove, errorfs.OpRename),
	"base table":   onBase(".sst", errorfs.OpFileWrite),
	"base sync":    onBase(".sst", errorfs.OpFileSyncData),
	"manifest":     onBase("MANIFEST", errorfs.OpFileSync),
	"all writes":   func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite },
}

func onLog(kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		return slices.Contains(kinds, op.Kind) && path.Ext(op.Path) == ".log" && !strings.Contains(op.Path, baseDir)
	}
}

func onBase(part string, kind errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		return op.Kind == kind && strings.Contains(op.Path, baseDir) && strings.Contains(op.Path, part)
	}
}

// TestFaults lets the disk fail at some moment: commits are refused from then
// on, reads go on, and opening again brings back what was acknowledged.
func TestFaults(t *testing.T) {
	for name, wanted := range failures {
		t.Run(name, func(t *testing.T) {
			random := seed.Rand(t)
			for range 10 {
				testFault(t, wanted, random.Int64N(6))
			}
		})
	}
}

func testFault(t *testing.T, wanted func(errorfs.Op) bool, after int64) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	mem := vfs.NewMem()
	fs := newFaultyFS(mem, wanted)
	db := openTest(t, crashOptions(fs, false))
	fs.left.Store(after)
	acknowledged, err := commitUntilFault(t, db)
	if fs.hits.Load() == 0 || !errors.Is(err, errorfs.ErrInjected) || kv.CodeOf(err) != kv.CodeIOError {
		t.Fatalf("commits end with %v, want the injected error as CodeIOError", err)
	}
	if kv.IsRetryable(err) {
		t.Errorf("%v would be retried", err)
	}
	var disk *fault.DiskError
	if err := commitNumbered(t, db, acknowledged+2); !errors.As(err, &disk) || errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("a later commit gets %v, want a DiskError with a known outcome", err)
	}
	if last := checkNumbered(t, db); last != acknowledged {
		t.Errorf("reads see transaction %d, want %d", last, acknowledged)
	}
	_ = db.Close() // it may say what has failed
	fs.left.Store(1 << 40)

	db = openTest(t, crashOptions(mem, false))
	last := checkNumbered(t, db)
	if last != acknowledged && (last != acknowledged+1 || !errors.Is(err, kv.ErrOutcomeUnknown)) {
		t.Errorf("transaction %d is the last, want %d (%v)", last, acknowledged, err)
	}
	closeTest(t, db)
}

// TestBackgroundErrors lets what the base writes in the background fail some times: it is
// repeated, and the database goes on. TestFaults lets it fail for good.
func TestBackgroundErrors(t *testing.T) {
	for name, wanted := range map[string]func(errorfs.Op) bool{
		"table":          onBase(".sst", errorfs.OpFileWrite),
		"sync":           onBase(".sst", errorfs.OpFileSyncData),
		"table creation": onBase(".sst", errorfs.OpCreate),
	} {
		for _, times := range []int64{1, 4, 12} {
			t.Run(fmt.Sprintf("%s, %d times", name, times), func(t *testing.T) {
				var left atomic.Int64
				mem := vfs.NewMem()
				db := openTest(t, crashOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if wanted(op) && left.Add(-1) >= 0 {
						return errorfs.ErrInjected
					}
					return nil
				})), true))
				const commits = 150
				for i := range commits {
					if i == 20 {
						left.Store(times)
					}
					if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
						t.Fatalf("commit %d: %v", i+1, err)
					}
				}
				if err := db.disk.base.CompactAll(t.Context()); err != nil && !errors.Is(err, errorfs.ErrInjected) {
					t.Fatal(err)
				}
				if left.Load() >= 0 {
					t.Errorf("%d failures were left", left.Load())
				}
				closeTest(t, db)
				verifyTest(t, mem, "db")
			})
		}
	}
}

func commitNumbered(t *testing.T, db *Database, i int) error {
	return commitNumberedIn(t.Context(), db, i)
}

func commitNumberedIn(ctx context.Context, db *Database, i int) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		writeNumbered(tx, i)
		return nil
	})
}

// commitUntilFault commits numbered transactions, and absorbs after each, until
// a commit fails. It returns how many succeeded.
func commitUntilFault(t *testing.T, db *Database) (int, error) {
	for i := 1; i < 2000; i++ {
		if err := commitNumbered(t, db, i); err != nil {
			return i - 1, err
		}
		if err := db.disk.absorber.Pass(); err != nil {
			_ = db.disk.fault.Raise("moving commits to the base", err)
		}
	}
	t.Fatal("nothing has failed")
	return 0, nil
}

// TestFaultWhileOpening lets every operation of an opening fail in turn.
func TestFaultWhileOpening(t *testing.T) {
	original := vfs.NewCrashableMem()
	db := openTest(t, crashOptions(original, false))
	for i := range 30 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, db)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for n := int64(0); ; n++ {
		mem := original.CrashClone(vfs.CrashCloneCfg{})
		fs := newFaultyFS(mem, func(op errorfs.Op) bool { return op.Kind != errorfs.OpFileClose })
		fs.left.Store(n)
		db, err := Open("db", crashOptions(fs, false))
		hits := fs.hits.Load()
		fs.left.Store(1 << 40)
		if err == nil {
			closeTest(t, db)
		}
		if hits == 0 {
			t.Logf("%d operations", n)
			return
		}
		db = openTest(t, crashOptions(mem, false))
		if last := checkNumbered(t, db); last != 30 {
			t.Fatalf("after the failure of operation %d: transaction %d is the last, want 30", n, last)
		}
		closeTest(t, db)
	}
}

// TestFaultWhileOpeningOnDisk is TestFaultWhileOpening for the operating system's file
// system: a file system around that sees each file being made, and no file stays open.
func TestFaultWhileOpeningOnDisk(t *testing.T) {
	root := t.TempDir()
	dir, original := filepath.Join(root, "db"), filepath.Join(root, "original")
	db, err := Open(original, crashOptions(nil, false))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, db)
	created := map[string]bool{}
	for n, hits := int64(0), int64(1); hits > 0; n++ {
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		fs := newFaultyFS(vfs.Default, func(op errorfs.Op) bool {
			if op.Kind == errorfs.OpCreate {
				created[filepath.Ext(op.Path)] = true
			}
			return op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose
		})
		fs.left.Store(n)
		db, err := Open(dir, crashOptions(onSystem{fs}, false))
		hits = fs.hits.Load()
		fs.left.Store(1 << 40)
		if err == nil {
			_ = db.Close() // it may say what has failed
		}
		if open := openFiles(t, dir); len(open) > 0 {
			t.Fatalf("after the failure of operation %d, and %v, files are open: %q", n, err, open)
		}
		if last, err := reopenDir(t, dir); err != nil || last != 30 {
			t.Fatalf("after the failure of operation %d: transaction %d is the last, want 30; %v", n, last, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if !created[".log"] || !created[".new"] || !created[".dbtmp"] {
		t.Errorf("files with these endings were seen being made: %v", created)
	}
}

// onSystem is a file system around the operating system's.
type onSystem struct{ *faultyFS }

// Unwrap implements [vfs.FS].
func (o onSystem) Unwrap() vfs.FS { return vfs.Default }

// lostPower returns what a loss of power leaves of a file system, with some
// percent of what was not synced.
func lostPower(t *testing.T, fs *vfs.MemFS, cfg vfs.CrashCloneCfg) (left *vfs.MemFS, last int) {
	t.Helper()
	left = fs.CrashClone(cfg)
	db := openTest(t, crashOptions(left, true))
	last = checkNumbered(t, db) // that it is a prefix of history
	closeTest(t, db)
	return left, last
}

// TestAbsorbWhileCommitting commits, without syncing, right after the absorber has
// synced the log. The base must get what these commits have replaced: a loss of
// power takes them, and leaves what was before.
func TestAbsorbWhileCommitting(t *testing.T) {
	fs := vfs.NewCrashableMem()
	o, synced := crashOptions(fs, true), func() {}
	o.syncLog = func(sync func() error) error {
		err := sync()
		synced()
		return err
	}
	db := openTest(t, o)
	commit := func(from, to int) {
		t.Helper()
		for i := from; i <= to; i++ {
			if err := commitNumbered(t, db, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit(1, 30)
	synced = func() {
		synced = func() {}
		commit(31, 35)
	}
	if err := db.disk.absorber.AbsorbTo(db.head.Published().Version()); err != nil {
		t.Fatal(err)
	}
	if err := db.disk.base.Store().Flush(); err != nil {
		t.Fatal(err)
	}
	if _, last := lostPower(t, fs, vfs.CrashCloneCfg{}); last != 30 {
		t.Errorf("transaction %d is the last, want 30, which was synced", last)
	}
	closeTest(t, db)
}

// TestNoSyncPowerLoss commits without syncing, lets the log be synced and the base
// absorb and flush at random moments, with commits in between, and takes the power
// away: what is left is a prefix of history, with all that was synced.
func TestNoSyncPowerLoss(t *testing.T) {
	random, rounds := seed.Rand(t), 60
	if testing.Short() {
		rounds = 15
	}
	fs, last := vfs.NewCrashableMem(), 0
	lost, losses := 0, 0
	for range rounds {
		o, most := crashOptions(fs, true), 6
		if random.IntN(2) == 0 {
			o.segmentSize, most = 1<<20, 40 // so that a crash may lose a part and leave what follows
		}
		var db *Database
		synced := last
		commit := func() {
			for range random.IntN(most) {
				last++
				if err := commitNumbered(t, db, last); err != nil {
					t.Fatal(err)
				}
			}
		}
		sync := func(do func() error) {
			upTo := last
			if err := do(); err != nil {
				t.Fatal(err)
			}
			synced = max(synced, upTo)
		}
		o.syncLog = func(syncLog func() error) error {
			commit()
			sync(syncLog)
			commit()
			return nil
		}
		db = openTest(t, o)
		for range random.IntN(20) {
			commit()
			switch random.IntN(8) {
			case 0:
				sync(db.disk.log.Confirm)
			case 1:
				if err := db.disk.absorber.Pass(); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := db.disk.base.Store().Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		left, found := lostPower(t, fs, vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[random.IntN(3)], RNG: random})
		if found < synced || found > last {
			t.Fatalf("transaction %d is the last, want %d, which was synced, to %d", found, synced, last)
		}
		if found < last {
			losses++
			lost += last - found
		}
		closeTest(t, db)
		fs, last = left, found
	}
	t.Logf("%d transactions left; %d lost in %d of %d losses of power", last, lost, losses, rounds)
	if losses == 0 {
		t.Error("nothing was ever lost: the power losses test nothing")
	}
}

// TestNoSyncWithinASecond takes the power away a second after a commit. The
// database is otherwise idle, absorbs nothing, and has just begun.
func TestNoSyncWithinASecond(t *testing.T) {
	fs := vfs.NewCrashableMem()
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{FS: fs, NoSync: true, noAbsorb: true, keepEvery: defaultKeepEvery})
		for i := range 5 {
			if err := commitNumbered(t, db, i+1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if _, last := lostPower(t, fs, vfs.CrashCloneCfg{}); last != i+1 {
				t.Errorf("transaction %d is the last, a second after %d was acknowledged", last, i+1)
			}
		}
		closeTest(t, db)
	})
}
