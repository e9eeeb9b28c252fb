// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

func openAt(t testing.TB, fs vfs.FS, dir string) *Database {
	t.Helper()
	db, err := Open(dir, Options{FS: fs, noAbsorb: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func backupTest(t testing.TB, db *Database, dir string) BackupInfo {
	t.Helper()
	info, err := db.Backup(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func verifyTest(t testing.TB, fs vfs.FS, dir string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), dir, Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bank is a set of accounts between which transactions move money, each leaving
// an entry under its versionstamp.
const bankAccounts = 8

func accountKey(i int) []byte { return fmt.Appendf(nil, "account/%d", i) }

var bankEntries = kv.PrefixRange([]byte("entry/"))

// moveMoney moves amount from one account to another.
func moveMoney(ctx context.Context, db *Database, from, to int, amount int64) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		for _, move := range []struct {
			account int
			by      int64
		}{{from, -amount}, {to, amount}} {
			value, err := tx.Get(accountKey(move.account)).Get(ctx)
			if err != nil {
				return err
			}
			var balance int64
			if value != nil {
				balance = int64(binary.BigEndian.Uint64(value))
			}
			tx.Set(accountKey(move.account), binary.BigEndian.AppendUint64(nil, uint64(balance+move.by)))
		}
		key := append([]byte("entry/"), make([]byte, 10)...)
		key = binary.LittleEndian.AppendUint32(key, uint32(len("entry/")))
		tx.Atomic(kv.SetVersionstampedKey, key, []byte{byte(from), byte(to), byte(amount)})
		return nil
	})
}

// bankState reads balances and entries, those up to a version only.
func bankState(t testing.TB, db *Database, upTo int64) (balances [bankAccounts]int64, entries pairs) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		balances, entries = [bankAccounts]int64{}, nil
		for i := range balances {
			value, err := tx.Get(accountKey(i)).Get(t.Context())
			if err != nil {
				return err
			}
			if value != nil {
				balances[i] = int64(binary.BigEndian.Uint64(value))
			}
		}
		entries, err = readPairs(tx, bankEntries, kv.RangeOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(e [2]string) bool {
		return int64(binary.BigEndian.Uint64([]byte(e[0])[len("entry/"):])) > upTo
	})
	return balances, entries
}

// replayBank returns the balances that entries lead to.
func replayBank(entries pairs) (balances [bankAccounts]int64) {
	for _, e := range entries {
		balances[e[1][0]] -= int64(e[1][2])
		balances[e[1][1]] += int64(e[1][2])
	}
	return balances
}

// background runs functions again and again until stop.
func background(t testing.TB, functions ...func() error) (stop func()) {
	var (
		quit atomic.Bool
		wg   sync.WaitGroup
	)
	for _, do := range functions {
		wg.Go(func() {
			for !quit.Load() {
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() { quit.Store(true); wg.Wait() }
}

// TestBackup backs a database up while transactions and the absorber go on: the
// copy is what the transactions up to its version come to. The first backup is
// of an empty database.
func TestBackup(t *testing.T) {
	random := seed.Rand(t)
	fs := vfs.NewMem()
	o := crashOptions(fs, false)
	o.segmentSize, o.flushAt = 4000, 20000
	db := openTest(t, o)
	var done atomic.Int64
	writers := []func() error{db.disk.absorber.Pass}
	for range 4 {
		r := rand.New(rand.NewPCG(random.Uint64(), 1))
		writers = append(writers, func() error {
			from := r.IntN(bankAccounts)
			done.Add(1)
			return moveMoney(t.Context(), db, from, (from+1+r.IntN(bankAccounts-1))%bankAccounts, 1+r.Int64N(9))
		})
	}
	infos := []BackupInfo{backupTest(t, db, "backups/0")}
	stop := background(t, writers...)
	for i := range 12 {
		for goal := done.Load() + random.Int64N(200); done.Load() < goal && !t.Failed(); {
		}
		infos = append(infos, backupTest(t, db, fmt.Sprint("backups/", i+1)))
	}
	stop()
	for i, info := range infos {
		dir := fmt.Sprint("backups/", i)
		report := verifyTest(t, fs, dir)
		if report.Version != info.Version || report.Torn != 0 || *report.Backup != info {
			t.Errorf("backup %d is of %+v, and verified as %+v (%+v)", i, info, report, report.Backup)
		}
		copied := openAt(t, fs, dir)
		balances, got := bankState(t, copied, 1<<62)
		closeTest(t, copied)
		_, want := bankState(t, db, info.Version)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("backup %d, entries mismatch (-database up to %d +backup):\n%s", i, info.Version, diff)
		}
		if want := replayBank(got); balances != want {
			t.Errorf("backup %d, balances are %v, entries make them %v", i, balances, want)
		}
	}
	if first, last := infos[0], infos[len(infos)-1]; first.Version >= last.Version || first.Database != last.Database {
		t.Errorf("the first backup is %+v, the last %+v", first, last)
	}
	closeTest(t, db)
}

// TestBackupHoldsWhatWasAcknowledged makes a backup after each commit, before
// and after the base has absorbed it.
func TestBackupHoldsWhatWasAcknowledged(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, crashOptions(fs, false))
	for i := range 40 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
		}
		dir := fmt.Sprint("backup", i)
		backupTest(t, db, dir)
		copied := openAt(t, fs, dir)
		if last := checkNumbered(t, copied); last != i+1 {
			t.Fatalf("the backup after transaction %d has %d", i+1, last)
		}
		closeTest(t, copied)
	}
	closeTest(t, db)
}

// TestBackupIsUntouched goes on with the database, and with the backup, and
// looks at the other.
func TestBackupIsUntouched(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, crashOptions(fs, false))
	commit := func(db *Database, from, to int) {
		t.Helper()
		for i := from; i <= to; i++ {
			if err := errors.Join(commitNumbered(t, db, i), db.disk.absorber.Pass()); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit(db, 1, 50)
	info := backupTest(t, db, "backup")
	commit(db, 51, 100)
	o := crashOptions(fs, false)
	copied, err := Open("backup", o)
	if err != nil {
		t.Fatal(err)
	}
	if last := checkNumbered(t, copied); last != 50 {
		t.Errorf("the backup has %d transactions, want 50", last)
	}
	commit(copied, 51, 120)
	if v := copied.head.Newest().Version(); v <= info.Version {
		t.Errorf("the backup is of version %d and goes on at %d", info.Version, v)
	}
	closeTest(t, copied)
	if last := checkNumbered(t, db); last != 100 {
		t.Errorf("the database has %d transactions, want 100", last)
	}
	closeTest(t, db)
	verifyTest(t, fs, "db")
	verifyTest(t, fs, "backup")
}

// TestBackupRefusals asks for backups that cannot be.
func TestBackupRefusals(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, Options{FS: fs})
	other := openAt(t, fs, "other")
	for _, dir := range []string{"full", "empty", "taken.partial"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"full/file", "taken.partial/file"} {
		if err := files.WriteSynced(fs, name, []byte("mine")); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	memory, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, c := range []struct {
		name string
		ctx  context.Context
		db   *Database
		dir  string
		want any
	}{
		{"no name", t.Context(), db, "", nil},
		{"a folder with a file", t.Context(), db, "full", iofs.ErrExist},
		{"a stranger's file in the way", t.Context(), db, "taken", iofs.ErrExist},
		{"its own folder", t.Context(), db, "db", new(*LockedError)},
		{"another's folder", t.Context(), db, "other", new(*LockedError)},
		{"a context that is done", cancelled, db, "cancelled", context.Canceled},
		{"in memory", t.Context(), memory, "memory", errors.ErrUnsupported},
	} {
		_, err := c.db.Backup(c.ctx, c.dir)
		switch want := c.want.(type) {
		case nil:
			if err == nil {
				t.Errorf("%s: no error", c.name)
			}
		case error:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", c.name, err, want)
			}
		case **LockedError:
			if !errors.As(err, want) {
				t.Errorf("%s: %v, want a LockedError", c.name, err)
			}
		}
		t.Logf("%s: %v", c.name, err)
	}
	backupTest(t, db, "empty")
	verifyTest(t, fs, "empty")
	closeTest(t, db)
	closeTest(t, other)
	if _, err := db.Backup(t.Context(), "late"); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("of a closed database: %v", err)
	}
	if names, err := fs.List(""); err != nil || slices.Contains(names, "cancelled.partial") || slices.Contains(names, "cancelled") {
		t.Errorf("left over: %q, %v", names, err)
	}
}
