// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/kazahana-db/kazahana/internal/seed"
)

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

// TestNoSyncWithinASecond takes the power away a second after a commit whose
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
