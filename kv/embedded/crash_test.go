// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// crashOptions make everything that happens rarely happen often.
func crashOptions(fs vfs.FS, noSync bool) Options {
	return Options{FS: fs, NoSync: noSync, window: 1, segmentSize: 1000, flushAt: 4000, noAbsorb: true, firstRepeat: -1}
}

// TestCrash takes the machine's power away at random moments, while commits,
// absorbing and flushing go on.
func TestCrash(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		name := map[bool]string{false: "sync", true: "no sync"}[noSync]
		t.Run(name, func(t *testing.T) { crashSeries(t, noSync) })
	}
}

func crashSeries(t *testing.T, noSync bool) {
	random := seed.Rand(t)
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	fs, least := vfs.NewCrashableMem(), 0
	for range rounds {
		db := openTest(t, crashOptions(fs, noSync))
		first := checkNumbered(t, db)
		if first < least {
			t.Fatalf("transaction %d was acknowledged; the last is %d", least, first)
		}
		acknowledged, stop := crashLoad(t, db, first)
		for acknowledged.Load() < int64(first+1+random.IntN(40)) {
		}
		if !noSync {
			least = int(acknowledged.Load())
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: []int{0, 50, 100}[random.IntN(3)],
			RNG:                 random,
		})
		stop()
		closeTest(t, db)
		fs = crashed
	}
	t.Logf("%d transactions in %d rounds", least, rounds)
}

// crashLoad commits numbered transactions behind first, and absorbs, until stop
// is called.
func crashLoad(t *testing.T, db *Database, first int) (acknowledged *atomic.Int64, stop func()) {
	acknowledged = new(atomic.Int64)
	var (
		quit atomic.Bool
		wg   sync.WaitGroup
	)
	wg.Go(func() {
		for i := first + 1; !quit.Load(); i++ {
			err := db.Transact(t.Context(), func(tx kv.Transaction) error {
				writeNumbered(tx, i)
				return nil
			})
			if err != nil {
				t.Error(err)
				acknowledged.Store(1 << 40)
				return
			}
			acknowledged.Store(int64(i))
		}
	})
	wg.Go(func() {
		for !quit.Load() {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return acknowledged, func() {
		quit.Store(true)
		wg.Wait()
	}
}

// TestCrashWhileOpening crashes again and again right after opening.
func TestCrashWhileOpening(t *testing.T) {
	random := seed.Rand(t)
	fs := vfs.NewCrashableMem()
	db := openTest(t, crashOptions(fs, false))
	for i := range 50 {
		transact(t, db, func(tx kv.Transaction) { writeNumbered(tx, i+1) })
	}
	for range 30 {
		crashed := fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: 50, RNG: random,
		})
		closeTest(t, db)
		fs = crashed
		db = openTest(t, crashOptions(fs, false))
		if last := checkNumbered(t, db); last != 50 {
			t.Fatalf("the last transaction is %d, want 50", last)
		}
	}
	closeTest(t, db)
}

// TestCrashOfFoldersJustMade takes the power away of databases and backups in folders that
// the program has made just before, and not synced.
func TestCrashOfFoldersJustMade(t *testing.T) {
	fs := vfs.NewCrashableMem()
	for _, dir := range []string{"/srv/data/db", "/srv/backups"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	db := openAt(t, fs, "/srv/data/db")
	for i := range 10 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	backupTest(t, db, "/srv/backups/first")
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	closeTest(t, db)
	for _, dir := range []string{"/srv/data/db", "/srv/backups/first"} {
		left := openAt(t, crashed, dir)
		if last := checkNumbered(t, left); last != 10 {
			t.Errorf("%s: transaction %d is the last, want 10", dir, last)
		}
		closeTest(t, left)
	}
}
