// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// hang is how long a test waits for what must happen before it fails. Nothing
// waits for as long where all is well, on a busy machine either.
const hang = 5 * time.Minute

// coldDisk is a file system on which some operations wait while it is blocked: those of
// which slow says so.
type coldDisk struct {
	slow    func(errorfs.Op) bool
	mu      sync.Mutex
	blocked bool
	waiting int
	reads   int // so far
	changed *sync.Cond
}

func newColdDisk(slow func(errorfs.Op) bool) *coldDisk {
	d := &coldDisk{slow: slow}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// inject is called before each operation of the file system.
func (d *coldDisk) inject(op errorfs.Op) error {
	if !d.slow(op) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	d.waiting++
	d.changed.Broadcast()
	for d.blocked {
		d.changed.Wait()
	}
	d.waiting--
	return nil
}

func (d *coldDisk) block(blocked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocked = blocked
	d.changed.Broadcast()
}

// count returns how many reads have begun so far.
func (d *coldDisk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

// await returns when n reads wait, and fails the test if that does not happen.
func (d *coldDisk) await(t *testing.T, n int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	late := false
	defer time.AfterFunc(hang, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		late = true
		d.changed.Broadcast()
	}).Stop()
	for d.waiting < n {
		if late {
			t.Fatalf("%d reads wait for the disk, want %d", d.waiting, n)
		}
		d.changed.Wait()
	}
}

const coldKeys = 1000

func coldKey(i int) []byte { return fmt.Appendf(nil, "cold/%04d", i) }

// openCold opens a database with its base in one table, on a disk that can be blocked.
// Nothing of it is in memory but the table's index: each read of a key of
// coldKey(10*i) is a read of the disk of its own.
func openCold(t *testing.T, change ...func(*Options)) (*Database, *coldDisk) {
	t.Helper()
	d := newColdDisk(func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") })
	fs, dir := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(d.inject)), t.TempDir()
	db, err := Open(dir, crashOptions(fs, true))
	if err != nil {
		t.Fatal(err)
	}
	random := seed.Rand(t)
	value := make([]byte, 1000)
	transact(t, db, func(tx kv.Transaction) {
		for i := range coldKeys {
			for j := range value {
				value[j] = byte(random.Uint32()) // nothing to compress
			}
			value[0] = byte(i)
			tx.Set(coldKey(i), value)
		}
	})
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("recent"), []byte("recent")) })
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	if ok, err := db.disk.base.Flush(nil); !ok || err != nil {
		t.Fatalf("flush: %t, %v", ok, err)
	}
	if err := db.disk.base.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeTest(t, db)
	o := crashOptions(fs, true)
	o.CacheSize = 1 << 20
	for _, c := range change {
		c(&o)
	}
	if db, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.block(false)
		closeTest(t, db)
	})
	if _, err := db.disk.base.Get(coldKey(coldKeys - 1)); err != nil { // what every read of the table needs is in memory now
		t.Fatal(err)
	}
	return db, d
}

// bounded returns a context that ends when something hangs.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), hang, errors.New("the call hangs"))
	t.Cleanup(cancel)
	return ctx
}

// tableKeys is how many keys of a thousand bytes the base's table holds.
const tableKeys = 300

func tableKey(i int) []byte { return fmt.Appendf(nil, "table/%03d", i) }

// brokenTable makes a database with a base of one table, of which the first half
// cannot be read while broken is set.
func brokenTable(t *testing.T, broken *atomic.Bool) vfs.FS {
	t.Helper()
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") && op.Offset < tableKeys*1000/2 {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db := openTest(t, crashOptions(fs, false))
	defer closeTest(t, db)
	random := seed.Rand(t)
	transact(t, db, func(tx kv.Transaction) {
		for i := range tableKeys {
			value := fmt.Appendf(nil, "%d ", i)
			for len(value) < 1000 { // nothing to compress
				value = strconv.AppendUint(value, random.Uint64(), 36)
			}
			tx.Set(tableKey(i), value)
		}
	})
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("recent"), nil) })
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	if ok, err := db.disk.base.Flush(nil); !ok || err != nil {
		t.Fatalf("flush: %t, %v", ok, err)
	}
	if err := db.disk.base.CompactAll(t.Context()); err != nil {
		t.Fatal(err) // the base would do it while the test runs
	}
	return fs
}

// TestReadFaults lets a table of the base be unreadable for a while: what needs
// it fails with a clear error, whole; what does not goes on, and afterwards
// everything is right.
func TestReadFaults(t *testing.T) {
	var broken atomic.Bool
	fs := brokenTable(t, &broken)
	db := openTest(t, crashOptions(fs, false))
	broken.Store(true)
	expectReadFault(t, "a read", db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		_, err := tx.Get(tableKey(7)).Get(t.Context())
		return err
	}))
	expectReadFault(t, "a selector", db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		_, err := tx.GetKey(kv.FirstGreaterThan(tableKey(7))).Get(t.Context())
		return err
	}))
	expectReadFault(t, "a range read", db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		_, err := readPairs(tx, everything, kv.RangeOptions{})
		return err
	}))
	expectReadFault(t, "an addition that must read", db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set([]byte("never"), []byte("there"))
		tx.Atomic(kv.AppendIfFits, tableKey(7), []byte("+"))
		return nil
	}))
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("blind"), []byte("1")) })
	checkTable(t, db, kv.KeyRange{Begin: tableKey(tableKeys - 2), End: []byte("z")}, string(tableKey(tableKeys-2)), string(tableKey(tableKeys-1)))

	broken.Store(false)
	transact(t, db, func(tx kv.Transaction) { tx.Atomic(kv.AppendIfFits, tableKey(7), []byte("+")) })
	checkTable(t, db, everything, append([]string{"blind", "recent"}, allTableKeys()...)...)
	closeTest(t, db)
	db = openTest(t, crashOptions(fs, false))
	defer closeTest(t, db)
	checkTable(t, db, everything, append([]string{"blind", "recent"}, allTableKeys()...)...)
}

func allTableKeys() (keys []string) {
	for i := range tableKeys {
		keys = append(keys, string(tableKey(i)))
	}
	return keys
}

// checkTable checks which keys are there, and that the values are theirs.
func checkTable(t *testing.T, db *Database, r kv.KeyRange, want ...string) {
	t.Helper()
	var got pairs
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		got, err = readPairs(tx, r, kv.RangeOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range got {
		keys = append(keys, p[0])
		if number, ok := strings.CutPrefix(p[0], "table/"); ok && !strings.HasPrefix(p[1], strings.TrimLeft(number, "0")+" ") && number != "000" {
			t.Errorf("%s holds %.20q", p[0], p[1])
		}
		if p[0] == string(tableKey(7)) && strings.Count(p[1], "+") != 1 {
			t.Errorf("%s was appended to %d times, want once", p[0], strings.Count(p[1], "+"))
		}
	}
	if !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}
}

func expectReadFault(t *testing.T, what string, err error) {
	t.Helper()
	var disk *fault.DiskError
	if !errors.As(err, &disk) || !errors.Is(err, errorfs.ErrInjected) || kv.CodeOf(err) != kv.CodeIOError || kv.IsRetryable(err) {
		t.Errorf("%s gets %v, want a DiskError that is not retried", what, err)
	}
}
