// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	txhistory "github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

// isolationEngines are the engine in its forms.
var isolationEngines = []struct {
	name string
	open func(testing.TB) kv.Database
}{
	{"memory", func(t testing.TB) kv.Database {
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"durable", func(t testing.TB) kv.Database {
		db := openTest(t, Options{FS: vfs.NewMem()})
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"disk", func(t testing.TB) kv.Database {
		db, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"absorbing", openAbsorbing},
}

// openAbsorbing opens a database with commits that leave the window at once, all
// the time: what is read comes from the base, and transactions are often told
// that they are too old.
func openAbsorbing(t testing.TB) kv.Database {
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	quit, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-quit:
				done <- nil
				return
			default:
			}
			if err := db.disk.absorber.Pass(); err != nil {
				done <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeTest(t, db)
	})
	return db
}

// onIsolationEngines runs a check of random histories on each form of the
// engine, with few and with many goroutines.
func onIsolationEngines(t *testing.T, check func(testing.TB, kv.Database, txhistory.LoadOptions)) {
	for _, e := range isolationEngines {
		for _, goroutines := range []int{2, 8, 32} {
			t.Run(fmt.Sprintf("%s/%d", e.name, goroutines), func(t *testing.T) {
				rounds, total := 3, 640
				if testing.Short() {
					rounds, total = 1, 320
				}
				db := e.open(t)
				for range rounds {
					check(t, db, txhistory.LoadOptions{Seed: seed.Of(t), Goroutines: goroutines, Transactions: total / goroutines})
				}
			})
		}
	}
}

func TestSerializable(t *testing.T) { onIsolationEngines(t, txhistory.CheckSerializable) }

func TestCommitOrder(t *testing.T) { onIsolationEngines(t, txhistory.CheckCommitOrder) }

func checkAnomaly(t *testing.T, a kvtest.Anomaly) {
	for _, e := range isolationEngines {
		if e.name == "absorbing" {
			continue // a transaction that is too old cannot be led step by step
		}
		t.Run(e.name, func(t *testing.T) { kvtest.CheckAnomaly(t, e.open, a) })
	}
}

func TestDirtyWrite(t *testing.T) { checkAnomaly(t, kvtest.DirtyWrite) }

func TestDirtyRead(t *testing.T) { checkAnomaly(t, kvtest.DirtyRead) }

func TestLostUpdate(t *testing.T) { checkAnomaly(t, kvtest.LostUpdate) }

func TestReadSkew(t *testing.T) { checkAnomaly(t, kvtest.ReadSkew) }

func TestWriteSkew(t *testing.T) { checkAnomaly(t, kvtest.WriteSkew) }

func TestPhantom(t *testing.T) { checkAnomaly(t, kvtest.Phantom) }

// TestConcurrent moves amounts between accounts while commits are absorbed all
// the time. Every reader sees the same sum, however long it takes, or is told
// that its version is too old.
func TestConcurrent(t *testing.T) {
	const accounts, each = 50, 1000
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	defer closeTest(t, db)
	account := func(i int) []byte { return fmt.Appendf(nil, "account %02d", i) }
	transact(t, db, func(tx kv.Transaction) {
		for i := range accounts {
			tx.Set(account(i), binary.LittleEndian.AppendUint64(nil, each))
		}
	})
	var (
		quit atomic.Bool
		wg   sync.WaitGroup
		old  atomic.Int64
	)
	for worker := range 4 {
		random := seed.Rand(t)
		wg.Go(func() {
			for !quit.Load() {
				from, to, n := random.IntN(accounts), random.IntN(accounts), int64(random.IntN(10))
				err := db.Transact(context.Background(), func(tx kv.Transaction) error {
					if worker%2 == 0 { // without reading
						tx.Atomic(kv.Add, account(from), binary.LittleEndian.AppendUint64(nil, uint64(-n)))
						tx.Atomic(kv.Add, account(to), binary.LittleEndian.AppendUint64(nil, uint64(n)))
						return nil
					}
					return transfer(tx, account(from), account(to), n)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for !quit.Load() {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Error(err)
			}
		}
	})
	reads := 0
	for round := 0; round < 600 || reads == 0 && !t.Failed(); round++ {
		got, err := sum(db, round%2 == 0)
		switch {
		case kv.CodeOf(err) == kv.CodeTransactionTooOld:
			old.Add(1)
		case err != nil:
			t.Error(err)
		case got != accounts*each:
			t.Errorf("the sum is %d, want %d", got, accounts*each)
		default:
			reads++
		}
	}
	quit.Store(true)
	wg.Wait()
	t.Logf("%d reads, %d too old", reads, old.Load())
}

// transfer moves n from one account to another by reading and writing both.
func transfer(tx kv.Transaction, from, to []byte, n int64) error {
	for _, part := range []struct {
		key   []byte
		delta int64
	}{{from, -n}, {to, n}} {
		value, err := tx.Get(part.key).Get(context.Background())
		if err != nil {
			return err
		}
		amount := binary.LittleEndian.Uint64(value) + uint64(part.delta)
		tx.Set(part.key, binary.LittleEndian.AppendUint64(nil, amount))
	}
	return nil
}

// sum adds the accounts up in one attempt.
func sum(db *Database, reverse bool) (total int64, err error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	got, err := readPairs(tx, everything, kv.RangeOptions{Reverse: reverse, Mode: kv.ModeSmall})
	for _, p := range got {
		total += int64(binary.LittleEndian.Uint64([]byte(p[1])))
	}
	return total, err
}

// TestTooOld reads a version that the base has gone past.
func TestTooOld(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("old")) })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	if _, err := tx.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("other"), []byte("new")) })
	}
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	if _, err := readPairs(tx, everything, kv.RangeOptions{}); kv.CodeOf(err) != kv.CodeTransactionTooOld {
		t.Errorf("the range read gets %v, want CodeTransactionTooOld", err)
	}
	if _, err := tx.Get([]byte("unknown")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
		t.Errorf("the read gets %v, want CodeTransactionTooOld", err)
	}
}

// TestCloseLeavesNothing closes a database twice and looks for its goroutines.
func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	db, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("value")) })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, db)
	closeTest(t, db)
	if _, err := tx.Get([]byte("key")).Get(t.Context()); err == nil {
		t.Error("a closed database can be read")
	}
	goleak.VerifyNone(t, before)
}

// TestBaseStaysSmall writes and clears keys within the window: nothing of them
// reaches the base, not even tombstones.
func TestBaseStaysSmall(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	for i := range 200 {
		transact(t, db, func(tx kv.Transaction) { tx.Set(fmt.Append(nil, i), []byte("value")) })
	}
	transact(t, db, func(tx kv.Transaction) { tx.ClearRange(everything) })
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("last"), nil) })
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	iter, err := db.disk.base.Store().NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer iter.Close()
	for ok := iter.First(); ok; ok = iter.Next() {
		if iter.Key()[0] != 0 && !bytesEqual(iter.Key(), []byte("\x01last")) {
			t.Errorf("the base holds %q", iter.Key())
		}
	}
	if n := db.disk.base.Store().Metrics().MemTable.Size; n > 1<<20 {
		t.Errorf("the base's memtable has %d bytes", n)
	}
}

func bytesEqual(a, b []byte) bool { return string(a) == string(b) }

// matrixReads are all calls that add read conflict ranges, and their snapshot
// forms, which add none. Each sees or guards the keys from k to l.
var matrixReads = map[string]func(t testing.TB, tx kv.Transaction) error{
	"get":                     func(t testing.TB, tx kv.Transaction) error { return getErr(t, tx, "k") },
	"get_key":                 func(t testing.TB, tx kv.Transaction) error { return selectErr(t, tx) },
	"get_range":               func(t testing.TB, tx kv.Transaction) error { return rangeErr(tx, false) },
	"get_range backward":      func(t testing.TB, tx kv.Transaction) error { return rangeErr(tx, true) },
	"add_read_conflict_key":   func(_ testing.TB, tx kv.Transaction) error { return tx.AddReadConflictKey([]byte("k")) },
	"add_read_conflict_range": func(_ testing.TB, tx kv.Transaction) error { return tx.AddReadConflictRange(guarded) },
	"watch": func(_ testing.TB, tx kv.Transaction) error {
		tx.Watch([]byte("k"))
		return nil
	},
	"snapshot get":       func(t testing.TB, tx kv.Transaction) error { return getErr(t, tx.Snapshot(), "k") },
	"snapshot get_key":   func(t testing.TB, tx kv.Transaction) error { return selectErr(t, tx.Snapshot()) },
	"snapshot get_range": func(_ testing.TB, tx kv.Transaction) error { return rangeErr(tx.Snapshot(), false) },
}

var guarded = kv.KeyRange{Begin: []byte("k"), End: []byte("l")}

func selectErr(t testing.TB, tx kv.ReadTransaction) error {
	_, err := tx.GetKey(kv.FirstGreaterOrEqual([]byte("k"))).Get(t.Context())
	return err
}

func rangeErr(tx kv.ReadTransaction, reverse bool) error {
	_, err := readPairs(tx, guarded, kv.RangeOptions{Reverse: reverse})
	return err
}

// matrixWrites are all calls that add write conflict ranges, made on key, which
// is of one byte.
var matrixWrites = map[string]func(tx kv.Transaction, key string){
	"set":         func(tx kv.Transaction, key string) { tx.Set([]byte(key), []byte("new")) },
	"clear":       func(tx kv.Transaction, key string) { tx.Clear([]byte(key)) },
	"clear_range": func(tx kv.Transaction, key string) { tx.ClearRange(around(key)) },
	"atomic":      func(tx kv.Transaction, key string) { tx.Atomic(kv.Add, []byte(key), []byte{1}) },
	"versionstamped value": func(tx kv.Transaction, key string) {
		tx.Atomic(kv.SetVersionstampedValue, []byte(key), make([]byte, 14))
	},
	"versionstamped key": func(tx kv.Transaction, key string) {
		tx.Atomic(kv.SetVersionstampedKey, append([]byte(key), append(make([]byte, 10), 1, 0, 0, 0)...), nil)
	},
	"add_write_conflict_key":   func(tx kv.Transaction, key string) { _ = tx.AddWriteConflictKey([]byte(key)) },
	"add_write_conflict_range": func(tx kv.Transaction, key string) { _ = tx.AddWriteConflictRange(around(key)) },
}

func around(key string) kv.KeyRange {
	return kv.KeyRange{Begin: []byte(key), End: append([]byte(key), 0)}
}

// sees reports whether a read of the matrix covers what a write to k changes: a
// versionstamped key is some other key that begins with k.
func sees(read, write string) bool {
	if write != "versionstamped key" {
		return true
	}
	return strings.HasPrefix(read, "get_range") || read == "add_read_conflict_range"
}

// TestConflictMatrix commits each kind of write between each kind of read and
// its transaction's commit: on the key that was read, on another, and without
// write conflict range.
func TestConflictMatrix(t *testing.T) {
	db := memoryWith(t)
	for read, call := range matrixReads {
		for write := range matrixWrites {
			snapshot := strings.HasPrefix(read, "snapshot")
			check := func(how, key string, silent bool, want kv.Code) {
				t.Helper()
				transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("k"), []byte("old")) })
				reader := begin(t, db)
				readVersion(t, reader)
				wantCode(t, read, call(t, reader), 0)
				reader.Set([]byte("z"), nil)
				transact(t, db, func(tx kv.Transaction) {
					if silent {
						wantCode(t, "SetOption", tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0), 0)
					}
					matrixWrites[write](tx, key)
				})
				wantCode(t, read+", "+write+" "+how, reader.Commit(t.Context()), want)
			}
			hit := kv.Code(0)
			if !snapshot && sees(read, write) {
				hit = kv.CodeNotCommitted
			}
			check("on what was read", "k", false, hit)
			check("elsewhere", "q", false, 0)
			// A versionstamped key adds its range in any case; so does what is
			// not a write.
			if write != "versionstamped key" && !strings.HasPrefix(write, "add_") {
				hit = 0
			}
			check("without conflict range", "k", true, hit)
		}
	}
}

// TestVersionThatNobodyReads chooses a version that only garbage knows, after the base has gone past
// it: the transaction is refused at once and holds nothing back.
func TestVersionThatNobodyReads(t *testing.T) {
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	defer closeTest(t, db)
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("1")) })
	tx := begin(t, db)
	version := readVersion(t, tx)
	tx.Cancel()
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("2")) })
	db.head.ReleasePast()
	if err := db.disk.absorber.AbsorbTo(db.head.OldestRead(0)); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, db)
	defer tx.Cancel()
	tx.SetReadVersion(version)
	if _, err := tx.Get([]byte("key")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld || !strings.Contains(err.Error(), "not in memory any more") {
		t.Errorf("a get says %v", err)
	}
	if oldest, newest := db.head.OldestRead(0), db.head.ViewVersion(db.head.Now()); oldest != newest {
		t.Errorf("the oldest version that is read is %d, want %d", oldest, newest)
	}
}
