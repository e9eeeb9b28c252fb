// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
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

// openCold opens a database whose base is a table on a disk that can be blocked.
// Nothing of it is in memory but the table's index: each read of a key of
// coldKey(10*i) is a read of the disk of its own.
func openCold(t *testing.T, change ...func(*Options)) (*Database, *coldDisk) {
	t.Helper()
	d := newColdDisk(func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") })
	fs, dir := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(d.inject)), t.TempDir()
	db, err := OpenWith(dir, crashOptions(fs, true))
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
	if db, err = OpenWith(dir, o); err != nil {
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
