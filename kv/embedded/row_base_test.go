// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
)

func getOne(t testing.TB, db *Database, key string) (value []byte) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		value, err = tx.Get([]byte(key)).Get(t.Context())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// remember reads a key until the row cache has it.
func remember(t testing.TB, db *Database, key string) {
	t.Helper()
	for range 2 { // a row is remembered when it is read again
		getOne(t, db, key)
	}
	if _, ok, _ := db.disk.base.Lookup([]byte(key)); !ok {
		t.Fatalf("the row of %q is not remembered", key)
	}
}

// Changes of the rows "row 000" to "row 099", which were "old".
var rowChanges = []struct {
	name string
	make func(tx kv.Transaction)
	want string // of row 050; empty: there is none
}{
	{"set", func(tx kv.Transaction) { tx.Set([]byte("row 050"), []byte("new")) }, "new"},
	{"clear", func(tx kv.Transaction) { tx.Clear([]byte("row 050")) }, ""},
	{"clear of few", func(tx kv.Transaction) {
		tx.ClearRange(kv.KeyRange{Begin: []byte("row 045"), End: []byte("row 055")})
	}, ""},
	{"clear of many", func(tx kv.Transaction) {
		tx.ClearRange(kv.KeyRange{Begin: []byte("row 010"), End: []byte("row 090")})
	}, ""},
	{"clear to the end", func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte("row"), End: []byte{0xff}}) }, ""},
	{"atomic operation", func(tx kv.Transaction) { tx.Atomic(kv.AppendIfFits, []byte("row 050"), []byte("er")) }, "older"},
}

func fillOld(t testing.TB, db *Database) {
	t.Helper()
	transact(t, db, func(tx kv.Transaction) {
		for i := range 100 {
			tx.Set(fmt.Appendf(nil, "row %03d", i), []byte("old"))
		}
	})
	absorbAll(t, db)
}

// TestRowsChange reads a row before and after it changes in the base.
func TestRowsChange(t *testing.T) {
	for _, c := range rowChanges {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, tiny(vfs.NewMem()))
			defer closeTest(t, db)
			fillOld(t, db)
			if got := getOne(t, db, "row 050"); string(got) != "old" {
				t.Fatalf("the row is %q", got)
			}
			remember(t, db, "row 050")
			transact(t, db, c.make)
			absorbAll(t, db)
			for range 3 { // from Pebble, and from what that left in the cache
				if got := getOne(t, db, "row 050"); string(got) != c.want {
					t.Errorf("the row is %q, want %q", got, c.want)
				}
			}
			if got := getOne(t, db, "row 005"); c.want != "" && string(got) != "old" {
				t.Errorf("another row is %q", got)
			}
		})
	}
}

// TestRowsLate lets a reader read Pebble before a change, and hand in what it
// read after it.
func TestRowsLate(t *testing.T) {
	for _, c := range rowChanges {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, tiny(vfs.NewMem()))
			defer closeTest(t, db)
			fillOld(t, db)
			laid, key := db.disk.base, []byte("row 050")
			value, ok, ticket := laid.Lookup(key)
			if ok {
				t.Fatalf("%q is remembered though nobody has read it", value)
			}
			value, closer, err := laid.Store().Get(pebbleKey(key))
			if err != nil || string(value) != "old" {
				t.Fatalf("Pebble has %q, %v", value, err)
			}
			transact(t, db, c.make)
			absorbAll(t, db)
			for range 2 { // a row is remembered when it is read again
				laid.AddRow(ticket, key, value)
			}
			if err := closer.Close(); err != nil {
				t.Fatal(err)
			}
			if got := getOne(t, db, "row 050"); string(got) != c.want {
				t.Errorf("the row is %q, want %q", got, c.want)
			}
		})
	}
}

// TestRowsForgottenLast stops the absorber when it is about to tell the cache of a
// change. Pebble has made it by then: a read of Pebble from now on gets the new
// value, so that no ticket admits an old one. Readers see the change at that time
// without waiting, because the window still has it.
func TestRowsForgottenLast(t *testing.T) {
	for _, c := range rowChanges {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, tiny(vfs.NewMem()))
			defer closeTest(t, db)
			fillOld(t, db)
			remember(t, db, "row 050")
			transact(t, db, c.make)
			resume := db.disk.base.HoldRows()
			defer resume()
			absorbed := make(chan error, 1)
			go func() { absorbed <- db.disk.absorber.Pass() }()
			waitForPebble(t, db.disk.base, "row 050", c.want)
			if got := getOne(t, db, "row 050"); string(got) != c.want {
				t.Errorf("the row is %q, want %q", got, c.want)
			}
			resume()
			if err := <-absorbed; err != nil {
				t.Fatal(err)
			}
			absorbAll(t, db)
			if got := getOne(t, db, "row 050"); string(got) != c.want {
				t.Errorf("the row is %q, want %q", got, c.want)
			}
		})
	}
}

// pebbleKey returns the name that a key has in Pebble.
func pebbleKey(key []byte) []byte { return append([]byte{1}, key...) }

// waitForPebble waits until Pebble has a value for a key, or none if it is empty.
func waitForPebble(t *testing.T, b *base.Base, key, want string) {
	t.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		value, closer, err := b.Store().Get(pebbleKey([]byte(key)))
		got := string(value)
		if err == nil {
			err = closer.Close()
		} else if errors.Is(err, pebble.ErrNotFound) {
			err = nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if got == want {
			return
		}
		if time.Since(begin) > hang {
			t.Fatalf("Pebble has %q, want %q", got, want)
		}
	}
}

// TestRowsAbsent remembers that a key is absent, until it is set.
func TestRowsAbsent(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	for range 2 {
		if got := getOne(t, db, "key"); got != nil {
			t.Fatalf("the key is %q", got)
		}
	}
	if got, ok, _ := db.disk.base.Lookup([]byte("key")); !ok || got != nil {
		t.Errorf("remembered is %q, %v; want that there is no value", got, ok)
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), nil) })
	absorbAll(t, db)
	for range 3 {
		if got := getOne(t, db, "key"); got == nil || len(got) > 0 {
			t.Errorf("the key is %#v, want a value of no bytes", got)
		}
	}
}

// TestRowsClosed closes a database: the memory of its rows is given back.
func TestRowsClosed(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	fillOld(t, db)
	remember(t, db, "row 050")
	full := db.disk.base.RowBytes()
	closeTest(t, db)
	if left := db.disk.base.RowBytes(); left >= full {
		t.Errorf("a closed database has %d of %d bytes of rows", left, full)
	}
	if _, err := db.disk.base.Get([]byte("row 050")); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("a read of the closed base gets %v", err)
	}
}

// sameKeys is how many keys each transaction of TestRowsConcurrent gives one
// value, or clears.
const sameKeys = 2 * 32

// TestRowsConcurrent commits and absorbs all the time, with a cache that is too
// small and with one that is not. Readers, some of which take long, see all keys
// as one transaction has left them, or are told that their version is too old.
func TestRowsConcurrent(t *testing.T) {
	for _, size := range []int64{1, 8 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { testRowsConcurrent(t, size) })
	}
}

func testRowsConcurrent(t *testing.T, size int64) {
	o := crashOptions(vfs.NewMem(), true)
	o.CacheSize = size
	db := openTest(t, o)
	defer closeTest(t, db)
	wanted := uint64(2000)
	if testing.Short() {
		wanted = 400
	}
	var (
		quit          atomic.Bool
		wg            sync.WaitGroup
		reads, tooOld atomic.Int64
		commits       atomic.Uint64
	)
	background := func(do func() error) {
		wg.Go(func() {
			for !quit.Load() {
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	background(db.disk.absorber.Pass)
	for reader := range 4 {
		random := seed.Rand(t)
		patience := uint64(reader % 2) // commits that happen before it adds the row
		background(func() error {
			err := readSame(t.Context(), db, random.IntN, func() {
				for begin := commits.Load(); commits.Load() < begin+patience && !quit.Load(); {
					runtime.Gosched()
				}
			})
			if kv.CodeOf(err) == kv.CodeTransactionTooOld {
				tooOld.Add(1)
				return nil
			}
			reads.Add(1)
			return err
		})
	}
	random := seed.Rand(t)
	for n := uint64(1); n <= wanted && !t.Failed(); n++ {
		kind, one := random.IntN(4), random.IntN(sameKeys)
		transact(t, db, func(tx kv.Transaction) { setSame(tx, kind, one, n) })
		commits.Store(n)
	}
	quit.Store(true)
	wg.Wait()
	if got := getOne(t, db, "commits"); len(got) != 8 || binary.LittleEndian.Uint64(got) != commits.Load() {
		t.Errorf("%d commits were counted as %x", commits.Load(), got)
	}
	t.Logf("%d commits, %d reads, %d too old", commits.Load(), reads.Load(), tooOld.Load())
}

func sameKey(i int) []byte { return fmt.Appendf(nil, "same %03d", i) }

// setSame gives all keys one value, clears them at once or one by one, or
// leaves them as they are; and counts itself.
func setSame(tx kv.Transaction, kind, one int, number uint64) {
	tx.Atomic(kv.Add, []byte("commits"), binary.LittleEndian.AppendUint64(nil, 1))
	if kind == 0 {
		tx.ClearRange(kv.KeyRange{Begin: sameKey(0), End: sameKey(sameKeys)})
		return
	}
	for i := range sameKeys {
		key := sameKey((i + one) % sameKeys)
		if kind == 1 {
			tx.Clear(key)
		} else {
			tx.Set(key, binary.LittleEndian.AppendUint64(nil, number))
		}
	}
}

// readSame reads some of the keys, calls wait in between, and returns an error
// unless all have the same value.
func readSame(ctx context.Context, db *Database, random func(int) int, wait func()) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Cancel()
	var first []byte
	for i := range 10 {
		key := sameKey(random(sameKeys))
		value, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		switch i {
		case 0:
			first = value
		case 4:
			wait()
		}
		if string(value) != string(first) || (value == nil) != (first == nil) {
			return fmt.Errorf("key %q is %x in a transaction that read %x for another", key, value, first)
		}
	}
	return nil
}
