// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestBackupFaults lets every operation of a backup fail in turn: the backup
// says so and leaves nothing that opens, and the database goes on.
func TestBackupFaults(t *testing.T) {
	for n := int64(0); ; n++ {
		mem := vfs.NewMem()
		fs := newFaultyFS(mem, func(op errorfs.Op) bool {
			return strings.HasPrefix(op.Path, "backup") && op.Kind != errorfs.OpFileClose
		})
		db := openTest(t, crashOptions(fs, false))
		for i := range 30 {
			if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
				t.Fatal(err)
			}
		}
		fs.left.Store(n)
		_, err := db.Backup(t.Context(), "backup")
		hits := fs.hits.Load()
		fs.left.Store(1 << 40)
		if hits > 0 && err == nil {
			t.Logf("operation %d failed and was not needed", n)
		}
		if err != nil && !errors.Is(err, errorfs.ErrInjected) {
			t.Fatalf("operation %d failed: %v", n, err)
		}
		expectWholeOrNone(t, mem, 30, err == nil)
		if err := commitNumbered(t, db, 31); err != nil {
			t.Fatalf("operation %d of a backup failed, and the database with it: %v", n, err)
		}
		if _, err := mem.Stat("backup"); err != nil {
			backupTest(t, db, "backup")
			expectWholeOrNone(t, mem, 31, true)
		}
		closeTest(t, db)
		verifyTest(t, mem, "db")
		if hits == 0 {
			t.Logf("%d operations", n)
			return
		}
	}
}

// TestBackupAcrossFileSystems backs up to where no file can be linked, whole and
// with a context that ends at some moment.
func TestBackupAcrossFileSystems(t *testing.T) {
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		ctx, cancel := context.WithCancelCause(t.Context())
		enough, left := errors.New("enough"), n
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !strings.HasPrefix(op.Path, "backup") && op.Kind != errorfs.OpLink {
				return nil
			}
			if left--; left == 0 {
				cancel(enough)
			}
			if op.Kind == errorfs.OpLink {
				return errorfs.ErrInjected
			}
			return nil
		}))
		db := openTest(t, crashOptions(fs, false))
		for i := range 30 {
			if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.Backup(ctx, "backup")
		if err != nil && !errors.Is(err, enough) {
			t.Fatalf("ended at operation %d: %v", n, err)
		}
		if _, missing := mem.Stat("backup.partial"); missing == nil {
			t.Fatalf("ended at operation %d, the backup leaves something", n)
		}
		expectWholeOrNone(t, mem, 30, err == nil)
		if err := commitNumbered(t, db, 31); err != nil {
			t.Fatalf("ended at operation %d, a backup ends the database: %v", n, err)
		}
		closeTest(t, db)
		if left > 0 {
			t.Logf("%d operations", n-left)
			return
		}
	}
}

// expectWholeOrNone looks at the folder backup: it is a backup with n
// transactions, or, unless it must be there, it is not there; and what is left
// of an attempt is not opened.
func expectWholeOrNone(t *testing.T, fs vfs.FS, n int, must bool) {
	t.Helper()
	expectUnopened(t, fs, "backup.partial")
	if _, err := fs.Stat("backup"); errors.Is(err, iofs.ErrNotExist) && !must {
		return
	}
	verifyTest(t, fs, "backup")
	copied := openAt(t, fs, "backup")
	defer closeTest(t, copied)
	if last := checkNumbered(t, copied); last < n {
		t.Fatalf("the backup has transaction %d, want %d", last, n)
	}
}

// expectUnopened looks at what an attempt may have left: either nothing of the
// data, or it is refused, or it had only to get its name.
func expectUnopened(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	names, err := fs.List(dir)
	names = slices.DeleteFunc(names, func(name string) bool { return name == lockName || name == holderName })
	if err != nil || len(names) == 0 {
		return
	}
	db, err := Open(dir, Options{FS: fs, noAbsorb: true})
	if err == nil {
		closeTest(t, db)
		if err := fs.RemoveAll(dir); err != nil { // it has become a database
			t.Fatal(err)
		}
	}
	switch marked := slices.Contains(names, unfinishedName); {
	case marked && !errors.Is(err, ErrUnfinished):
		t.Fatalf("what an attempt has left is opened with %v: %q", err, names)
	case !marked && !slices.Contains(names, backupName):
		t.Fatalf("what an attempt has left is not marked: %q", names)
	case !marked && err != nil:
		t.Fatal(err)
	}
}

// TestBackupCrash takes the machine's power away at random moments of a backup.
func TestBackupCrash(t *testing.T) {
	random := seed.Rand(t)
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	whole := 0
	for range rounds {
		mem := vfs.NewCrashableMem()
		var crashed *vfs.MemFS
		left := random.IntN(70)
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasPrefix(op.Path, "backup") {
				if left--; left == 0 {
					crashed = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: random})
				}
			}
			return nil
		}))
		db := openTest(t, crashOptions(fs, false))
		for i := range 30 {
			if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.Backup(t.Context(), "backup")
		if crashed == nil {
			crashed = mem.CrashClone(vfs.CrashCloneCfg{})
		}
		closeTest(t, db)
		if err != nil {
			t.Fatal(err)
		}
		expectWholeOrNone(t, crashed, 30, left > 0)
		if _, err := crashed.Stat("backup"); err == nil {
			whole++
		}
		db = openTest(t, crashOptions(crashed, false))
		if last := checkNumbered(t, db); last != 30 {
			t.Fatalf("after the crash the database has transaction %d, want 30", last)
		}
		if _, err := crashed.Stat("backup"); err != nil {
			backupTest(t, db, "backup") // over what the crash has left
			expectWholeOrNone(t, crashed, 30, true)
		}
		closeTest(t, db)
	}
	t.Logf("%d of %d crashes came after the backup", whole, rounds)
}

// backUpUntilKilled commits and backs up, and prints the backups that are
// complete.
func backUpUntilKilled(dir string) {
	db, err := Open(filepath.Join(dir, "db"), Options{window: 1, segmentSize: 2000, flushAt: 8000, noAbsorb: true})
	if err != nil {
		die(err)
	}
	first, err := lastNumber(db)
	if err != nil {
		die(err)
	}
	work := func() error {
		for i := first + 1; ; i++ {
			err := errors.Join(commitNumberedIn(context.Background(), db, i), db.disk.absorber.Pass())
			if err != nil {
				return err
			}
		}
	}
	go func() { die(work()) }()
	for i := 0; ; i++ {
		name := fmt.Sprintf("backup-%d-%d", first, i)
		if _, err := db.Backup(context.Background(), filepath.Join(dir, name)); err != nil {
			die(err)
		}
		fmt.Println(name)
	}
}

// TestBackupKill kills a process that backs up, again and again.
func TestBackupKill(t *testing.T) {
	random, dir := seed.Rand(t), t.TempDir()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		cmd, out := startChild(t, "backup", dir)
		for range 1 + random.IntN(5) {
			if _, err := out.ReadString('\n'); err != nil {
				t.Fatalf("the process ended: %v", err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
		}
		_ = cmd.Wait() // it was killed
		if _, err := Verify(t.Context(), filepath.Join(dir, "db"), Options{}); err != nil {
			t.Fatal(err)
		}
		checkBackups(t, dir)
	}
}

// checkBackups checks all backups in a folder, and removes them.
func checkBackups(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if filepath.Ext(name) == ".partial" {
			expectUnopened(t, vfs.Default, name)
		} else {
			if _, err := Verify(t.Context(), name, Options{}); err != nil {
				t.Error(err)
			}
			db := openDir(t, name)
			checkNumbered(t, db)
			closeTest(t, db)
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowBackup commits and absorbs while a backup needs the log, which is long: the base
// goes to the disk once, when the backup is over.
func TestSlowBackup(t *testing.T) {
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	defer closeTest(t, db)
	unpin := db.disk.log.Pin()
	work := func(from int) {
		for i := range 100 {
			if err := errors.Join(commitNumbered(t, db, from+i), db.disk.absorber.Pass()); err != nil {
				t.Fatal(err)
			}
		}
	}
	work(1)
	if n := db.disk.base.Store().Metrics().Flush.Count; n > 0 {
		t.Errorf("while the backup needs the log, the base went to the disk %d times", n)
	}
	_, before := db.disk.log.Backlog()
	unpin()
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	if _, after := db.disk.log.Backlog(); before <= 1 || after >= before {
		t.Errorf("after the backup the log has %d segments; it had %d", after, before)
	}
}
