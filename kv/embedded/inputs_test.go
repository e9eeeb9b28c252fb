// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// appending appends a byte to the value of a cold key in a transaction of its own,
// and sends the outcome.
func appending(t *testing.T, db *Database, key []byte, options ...kv.Option) <-chan error {
	done := make(chan error, 1)
	ctx := bounded(t)
	go func() {
		done <- db.Transact(ctx, func(tx kv.Transaction) error {
			for _, o := range options {
				if err := tx.SetOption(o, 0); err != nil {
					return err
				}
			}
			tx.Atomic(kv.AppendIfFits, key, []byte("+"))
			return nil
		})
	}()
	return done
}

func valueOf(t *testing.T, db *Database, key []byte) string {
	t.Helper()
	value, err := kv.ReadTransact(bounded(t), db, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get(key).Get(bounded(t))
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// TestColdAtomicBlocksNoOtherCommit lets the disk hang under the value that an
// atomic operation needs: other commits go on, atomic operations on keys at hand
// among them.
func TestColdAtomicBlocksNoOtherCommit(t *testing.T) {
	db, disk := openCold(t)
	before := valueOf(t, db, coldKey(0))
	valueOf(t, db, coldKey(0)) // a row is cached when it is read again
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("hot"), []byte("hot")) })
	disk.block(true)
	done := appending(t, db, coldKey(500))
	disk.await(t, 1)
	for range 3 {
		err := db.Transact(bounded(t), func(tx kv.Transaction) error {
			tx.Set([]byte("blind"), nil)
			tx.Atomic(kv.AppendIfFits, []byte("hot"), []byte("+"))
			tx.Atomic(kv.AppendIfFits, coldKey(0), []byte("+")) // its row is cached
			return nil
		})
		if err != nil {
			t.Fatalf("while another commit waits for the disk: %v", err)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the commit that waits for the disk has ended: %v", err)
	default:
	}
	disk.block(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"hot": "hot+++", string(coldKey(0)): before + "+++"} {
		if got := valueOf(t, db, []byte(key)); got != want {
			t.Errorf("%s holds %d bytes, want %d", key, len(got), len(want))
		}
	}
	if got := valueOf(t, db, coldKey(500)); len(got) != 1001 || got[1000] != '+' {
		t.Errorf("the cold key holds %d bytes, want 1001 that end in +", len(got))
	}
}

// TestColdAtomicOverLaterWrites writes the key of an atomic operation while its
// value is being read: the operation applies to the later value, wherever that is
// by then.
func TestColdAtomicOverLaterWrites(t *testing.T) {
	for name, c := range map[string]struct {
		write   func(tx kv.Transaction)
		absorb  bool
		options []kv.Option
		want    string
	}{
		"set":                        {write: func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("new")) }, want: "new+"},
		"cleared":                    {write: func(tx kv.Transaction) { tx.Clear(coldKey(500)) }, want: "+"},
		"range cleared":              {write: func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: coldKey(1), End: coldKey(900)}) }, want: "+"},
		"set, and moved to the base": {write: func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("new")) }, absorb: true, want: "new+"},
		"the same, whatever was committed since the read version": {
			write: func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("new")) }, absorb: true,
			options: []kv.Option{kv.OptionCausalWriteRisky}, want: "new+",
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			disk.block(true)
			done := appending(t, db, coldKey(500), c.options...)
			disk.await(t, 1)
			transact(t, db, c.write)
			if c.absorb {
				transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("later"), nil) })
				if err := db.disk.absorber.Pass(); err != nil {
					t.Fatal(err)
				}
				for e := range db.head.Newest().Entries() {
					if bytes.Equal(e.Key, coldKey(500)) {
						t.Fatal("the window still knows the key")
					}
				}
			}
			disk.block(false)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := valueOf(t, db, coldKey(500)); got != c.want {
				t.Errorf("the key holds %q, want %q", got, c.want)
			}
		})
	}
}

// TestColdCommitsAndClose closes a database while commits that have begun wait for
// the disk: one for the value that its atomic operation needs, one for a read of
// its transaction. Close finishes both, and nothing is left.
func TestColdCommitsAndClose(t *testing.T) {
	db, disk := openCold(t)
	disk.block(true)
	appends, reads := begin(t, db), begin(t, db)
	appends.Atomic(kv.AppendIfFits, coldKey(500), []byte("+"))
	reads.Get(coldKey(200))
	reads.Set([]byte("after a read"), nil)
	commits := []kv.Future[struct{}]{appends.CommitAsync(), reads.CommitAsync()}
	disk.await(t, 2)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	for !db.closed.Load() {
		runtime.Gosched()
	}
	disk.block(false)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for i, commit := range commits {
		if _, err := commit.Get(bounded(t)); err != nil {
			t.Errorf("commit %d, which had begun before Close, gets %v", i, err)
		}
	}
}

// TestColdAtomicsAreBounded begins commits that wait for the disk, more than may
// wait: those beyond are refused.
func TestColdAtomicsAreBounded(t *testing.T) {
	db, disk := openCold(t, func(o *Options) { o.queueSize = 100_000 })
	disk.block(true)
	var commits []kv.Future[struct{}]
	for i := range 20 {
		tx := begin(t, db)
		tx.Atomic(kv.AppendIfFits, coldKey(10*i+100), make([]byte, 10_000))
		commits = append(commits, tx.CommitAsync())
	}
	disk.await(t, 5)
	refused := 0
	for _, commit := range commits {
		if !commit.Ready() {
			continue
		}
		_, err := commit.Get(bounded(t))
		wantCode(t, "a commit beyond the bound", err, kv.CodeCommitProxyMemoryLimitExceeded)
		refused++
	}
	if refused < 10 || refused > 11 {
		t.Errorf("%d of 20 commits of 10 kB were refused, want those beyond 100 kB", refused)
	}
	disk.block(false)
	for _, commit := range commits {
		if _, err := commit.Get(bounded(t)); err != nil && kv.CodeOf(err) != kv.CodeCommitProxyMemoryLimitExceeded {
			t.Error(err)
		}
	}
	if bytes := db.committer.FetchingBytes(); bytes != 0 {
		t.Errorf("%d bytes wait for the disk when no commit does", bytes)
	}
}

// TestLargeResults lets short operands make large values: a transaction that makes, or
// reads, too much is refused before anything of it is written.
func TestLargeResults(t *testing.T) {
	const most, size = 400, 99_000 // together more than the engine takes
	key := func(i int) []byte { return fmt.Appendf(nil, "key/%03d", i) }
	fill := func(db *Database) {
		for i := range most {
			transact(t, db, func(tx kv.Transaction) { tx.Set(key(i), make([]byte, size)) })
		}
	}
	for name, open := range map[string]func() *Database{
		"memory": func() *Database { return memoryWith(t) },
		"window": func() *Database {
			return openTest(t, Options{FS: vfs.NewMem(), NoSync: true, noAbsorb: true, WindowSize: 1 << 32})
		},
		"base": func() *Database {
			return openTest(t, Options{FS: vfs.NewMem(), NoSync: true, noAbsorb: true, WindowSize: 1 << 32, window: 1})
		},
	} {
		db := open()
		fill(db)
		if name == "base" {
			toTheBase(t, db)
		}
		for what, op := range map[string]struct {
			op      kv.MutationType
			fill    byte // of the operand, so that the operation keeps the value
			options []kv.Option
			key     func(i int) []byte
		}{
			"AppendIfFits":    {op: kv.AppendIfFits},
			"ByteMin":         {op: kv.ByteMin, fill: 0xff},
			"ByteMax":         {op: kv.ByteMax},
			"CompareAndClear": {op: kv.CompareAndClear},
			"one key":         {kv.AppendIfFits, 0, []kv.Option{kv.OptionReadYourWritesDisable}, func(int) []byte { return key(0) }},
			"a new key":       {kv.AppendIfFits, 0, []kv.Option{kv.OptionReadYourWritesDisable}, func(int) []byte { return []byte("new") }},
		} {
			change := func(n, size int) error {
				return db.Transact(t.Context(), func(tx kv.Transaction) error {
					for _, o := range op.options {
						if err := tx.SetOption(o, 0); err != nil {
							return err
						}
					}
					for i := range n {
						at := key(i)
						if op.key != nil {
							at = op.key(i)
						}
						tx.Atomic(op.op, at, bytes.Repeat([]byte{op.fill}, size))
					}
					return nil
				})
			}
			operand := 1
			if what == "a new key" {
				operand = 1000
			}
			before := kept(db)
			if err := change(most, operand); kv.CodeOf(err) != kv.CodeTransactionTooLarge {
				t.Errorf("%s, %s: %v, want code %d", name, what, err, kv.CodeTransactionTooLarge)
			}
			if after := kept(db); after != before {
				t.Errorf("%s, %s: the window and the log have %d bytes, before they had %d", name, what, after, before)
			}
			if err := change(10, 1); err != nil {
				t.Errorf("%s, %s, few of them: %v", name, what, err)
			}
		}
		closeTest(t, db)
	}
}

// kept returns how many bytes the window and the log of a database have.
func kept(db *Database) int64 {
	if db.disk == nil {
		return 0
	}
	logged, _ := db.disk.log.Backlog()
	return logged + db.disk.absorber.WindowUse().Bytes
}

// TestResultsAwaitRoom commits transactions at once that are short, and make much: they
// are queued, and the window is filled, by what they make.
func TestResultsAwaitRoom(t *testing.T) {
	const commits, made = 10, 14 << 20
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{FS: vfs.NewMem(), NoSync: true, noAbsorb: true, WindowSize: 1 << 20})
		defer closeTest(t, db)
		var done atomic.Int64
		for i := range commits {
			go func() {
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					if err := tx.SetOption(kv.OptionReadYourWritesDisable, 0); err != nil {
						return err
					}
					for range 300 { // which make 13.5 MB
						tx.Atomic(kv.AppendIfFits, fmt.Append(nil, i), make([]byte, 300))
					}
					return nil
				})
				if done.Add(1); err != nil {
					t.Error(err)
				}
			}()
		}
		most := int64(0)
		for range 1000 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			most = max(most, db.disk.absorber.WindowUse().Bytes)
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
		}
		if done.Load() != commits || most > 4*made {
			t.Errorf("%d commits of %d are done; the window had up to %d bytes", done.Load(), commits, most)
		}
	})
}

// TestInputsHoldTheirVersion lets the base move on while the disk hangs under the value that an
// atomic operation needs, in a transaction without a view of its own: what is read is not too old.
func TestInputsHoldTheirVersion(t *testing.T) {
	db, disk := openCold(t)
	tx := begin(t, db)
	tx.SetReadVersion(db.head.Now() + 3600*kv.VersionsPerSecond)
	tx.Atomic(kv.AppendIfFits, coldKey(500), []byte("+"))
	disk.block(true)
	done := tx.CommitAsync()
	disk.await(t, 1)
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("later"), nil) })
	db.head.ReleasePast()
	if err := db.disk.absorber.AbsorbTo(db.head.OldestRead(0)); err != nil {
		t.Fatal(err)
	}
	disk.block(false)
	if _, err := done.Get(bounded(t)); err != nil {
		t.Error(err)
	}
	if oldest, newest := db.head.OldestRead(0), db.head.ViewVersion(db.head.Now()); oldest != newest {
		t.Errorf("afterwards the oldest version that is read is %d, want %d", oldest, newest)
	}
}
