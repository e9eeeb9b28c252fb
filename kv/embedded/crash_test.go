// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

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

// crashLoad commits numbered transactions after first, and absorbs, until stop
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

// crashPoints is a file system that takes pictures of itself: what a crash of
// the machine would leave, just before some of its operations.
type crashPoints struct {
	vfs.FS
	mem      *vfs.MemFS
	known    func() (least, most lasts) // acknowledged; begun
	every    int64                      // one picture in so many operations
	ops      atomic.Int64
	mu       sync.Mutex
	random   *rand.Rand
	pictures []crashPicture
	kinds    map[string]int // of the operations that a picture was taken before
}

func opName(kind errorfs.OpKind) string {
	switch kind {
	case errorfs.OpCreate:
		return "create"
	case errorfs.OpRemove:
		return "remove"
	case errorfs.OpRename:
		return "rename"
	case errorfs.OpFileWrite:
		return "write"
	case errorfs.OpFileSync:
		return "sync"
	case errorfs.OpFileSyncData:
		return "data sync"
	}
	return fmt.Sprintf("operation %d", kind)
}

// crashPicture is what a crash left, and what must be in it.
type crashPicture struct {
	before      string // the operation
	mem         *vfs.MemFS
	percent     int // of the data that was not synced
	least, most lasts
}

func newCrashPoints(mem *vfs.MemFS, random *rand.Rand, every int64) *crashPoints {
	c := &crashPoints{mem: mem, random: random, every: every, kinds: map[string]int{}}
	c.known = func() (lasts, lasts) { return lasts{}, lasts{} }
	c.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && c.ops.Add(1)%c.every == 0 {
			c.take(op)
		}
		return nil
	}))
	return c
}

// take takes a picture. What was acknowledged before it must be in it, and
// nothing that was begun after.
func (c *crashPoints) take(op errorfs.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := crashPicture{before: fmt.Sprintf("%s of %s", opName(op.Kind), op.Path)}
	p.least, _ = c.known()
	p.percent = []int{0, c.random.IntN(100), 100}[c.random.IntN(3)]
	p.mem = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: p.percent, RNG: c.random})
	_, p.most = c.known()
	c.pictures = append(c.pictures, p)
	c.kinds[opName(op.Kind)]++
}

// check opens what a crash has left.
func (p *crashPicture) check(t *testing.T, fs vfs.FS, noSync bool) {
	t.Helper()
	db, err := Open("db", crashOptions(fs, noSync))
	if err != nil {
		t.Fatalf("after a crash before %s, with %d %% of what was not synced: %v", p.before, p.percent, err)
	}
	defer closeTest(t, db)
	last, err := readSeries(t.Context(), db)
	if err != nil {
		t.Fatalf("after a crash before %s, with %d %% of what was not synced: %v", p.before, p.percent, err)
	}
	for w := range last {
		if last[w] < p.least[w] && !noSync || last[w] > p.most[w] {
			t.Errorf("after a crash before %s, with %d %% of what was not synced: transaction %d of writer %d is the last, want %d to %d",
				p.before, p.percent, last[w], w, p.least[w], p.most[w])
		}
	}
}

// seriesProgress is how far the writers of a series are.
type seriesProgress struct{ begun, acknowledged [seriesWriters]atomic.Int64 }

func (p *seriesProgress) known() (least, most lasts) {
	for w := range least {
		least[w], most[w] = int(p.acknowledged[w].Load()), int(p.begun[w].Load())
	}
	return least, most
}

// run lets all writers commit while the absorber works.
func (p *seriesProgress) run(t *testing.T, db *Database, each int) {
	var writers, absorber sync.WaitGroup
	var quit atomic.Bool
	for w := range seriesWriters {
		writers.Go(func() {
			for i := int(p.acknowledged[w].Load()) + 1; i <= each; i++ {
				p.begun[w].Store(int64(i))
				if err := commitSeries(t.Context(), db, w, i); err != nil {
					t.Error(err)
					return
				}
				p.acknowledged[w].Store(int64(i))
			}
		})
	}
	absorber.Go(func() {
		for !quit.Load() {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Wait()
	quit.Store(true)
	absorber.Wait()
}

// TestCrashPoints takes the power away before the operations of the disk, one in
// a few: of the log, of the base, of moving from one to the other, of opening
// and of closing; and then, while what is left is opened, once more.
func TestCrashPoints(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		name := map[bool]string{false: "sync", true: "no sync"}[noSync]
		t.Run(name, func(t *testing.T) { testCrashPoints(t, noSync) })
	}
}

func testCrashPoints(t *testing.T, noSync bool) {
	random, each, every := seed.Rand(t), 80, int64(5)
	if testing.Short() {
		each, every = 30, 10
	}
	var p seriesProgress
	points := newCrashPoints(vfs.NewCrashableMem(), random, every)
	points.known = p.known
	for _, target := range []int{each / 2, each} { // it is opened twice
		db := openTest(t, crashOptions(points, noSync))
		p.run(t, db, target)
		closeTest(t, db)
	}
	again := 0
	for i := range points.pictures {
		picture := &points.pictures[i]
		second := newCrashPoints(picture.mem, random, 1+random.Int64N(40))
		picture.check(t, second, noSync)
		for j := range second.pictures {
			next := &second.pictures[j]
			next.least, next.most = picture.least, picture.most
			next.before += ", while opening after a crash before " + picture.before
			next.check(t, next.mem, noSync)
			again++
		}
	}
	t.Logf("%d crashes before %v, %d more while opening", len(points.pictures), points.kinds, again)
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpRemove} {
		if points.kinds[opName(kind)] == 0 && !testing.Short() {
			t.Errorf("no crash before operations of the kind %s", opName(kind))
		}
	}
}

// TestMarkersNameWhatIsThere looks at what a crash would leave at each moment
// at which the base lets another manifest count: that manifest must be in it.
func TestMarkersNameWhatIsThere(t *testing.T) {
	mem, markers := vfs.NewCrashableMem(), 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		_, manifest, found := strings.Cut(op.Path, ".MANIFEST-")
		if op.Kind != errorfs.OpCreate || !found {
			return nil
		}
		markers++
		left := mem.CrashClone(vfs.CrashCloneCfg{})
		if _, err := left.Stat("db/" + baseDir + "/MANIFEST-" + manifest); err != nil {
			t.Errorf("a crash after the creation of %s: %v", op.Path, err)
		}
		return nil
	}))
	for range 3 {
		db := openTest(t, crashOptions(fs, false))
		var p seriesProgress
		p.run(t, db, 20)
		closeTest(t, db)
	}
	if markers < 3 {
		t.Errorf("%d markers in three openings", markers)
	}
}
