// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

func readVersion(t testing.TB, tx kv.ReadTransaction) int64 {
	t.Helper()
	version, err := tx.GetReadVersion().Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// TestVersionsAdvance checks that versions grow by a million a second, whether
// anything is committed or not.
func TestVersionsAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memoryWith(t)
		first := readVersion(t, begin(t, db))
		for i := int64(1); i <= 3; i++ {
			time.Sleep(10 * time.Second)
			want := first + i*10*kv.VersionsPerSecond
			if got := readVersion(t, begin(t, db)); got < want-mvcc.FreshVersions || got > want+mvcc.FreshVersions {
				t.Errorf("after %d s the version is %d, want about %d", i*10, got, want)
			}
			tx := begin(t, db)
			tx.Set([]byte("key"), nil)
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, _ := tx.GetCommittedVersion(); got < want-mvcc.FreshVersions || got > want+mvcc.FreshVersions {
				t.Errorf("after %d s a commit has version %d, want about %d", i*10, got, want)
			}
		}
	})
}

// TestVersionsJumpOverRestarts checks that nothing of before a restart can be
// taken for new: versions jump by a hundred million, as over FoundationDB's
// recoveries.
func TestVersionsJumpOverRestarts(t *testing.T) {
	fs := vfs.NewMem()
	last := int64(0)
	for range 3 {
		db := openTest(t, tiny(fs))
		if got := readVersion(t, begin(t, db)); last > 0 && got < last+mvcc.RestartVersions {
			t.Errorf("after a restart the version is %d, %d more than the last; want %d at least", got, got-last, mvcc.RestartVersions)
		}
		tx := begin(t, db)
		tx.Set([]byte("key"), nil)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		last, _ = tx.GetCommittedVersion()
		closeTest(t, db)
	}
}

// TestTooOldAfterFiveSeconds checks that reads and commits end five seconds
// after the read version, in which nothing else need happen, and not before.
func TestTooOldAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memoryWith(t, "key")
		key := []byte("key")
		reader, writer, blind := begin(t, db), begin(t, db), begin(t, db)
		readVersion(t, reader)
		readVersion(t, writer)
		if _, err := writer.Get(key).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		writer.Set(key, nil)
		blind.Set([]byte("other"), nil)
		time.Sleep(kv.MaxTransactionAge - 200*time.Millisecond)
		if _, err := reader.Get(key).Get(t.Context()); err != nil {
			t.Errorf("a read after 4.8 s gets %v", err)
		}
		time.Sleep(400 * time.Millisecond)
		if _, err := reader.Get(key).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("a read after 5.2 s gets %v, want 1007", err)
		}
		if _, err := readPairs(reader.Snapshot(), everything, kv.RangeOptions{}); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("a range read after 5.2 s gets %v, want 1007", err)
		}
		if err := writer.Commit(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("a commit after 5.2 s gets %v, want 1007", err)
		}
		if err := blind.Commit(t.Context()); err != nil {
			t.Errorf("a commit without reads gets %v", err)
		}
		if err := writer.OnError(t.Context(), kv.NewError(kv.CodeTransactionTooOld, "")); err != nil {
			t.Errorf("OnError: %v", err)
		}
		if _, err := writer.Get(key).Get(t.Context()); err != nil {
			t.Errorf("the next attempt reads %v", err)
		}
	})
}

// waits returns how long OnError waits for an error, several times in turn.
func waits(t *testing.T, tx kv.Transaction, code kv.Code, times int) (all []time.Duration) {
	t.Helper()
	for range times {
		began := time.Now()
		if err := tx.OnError(t.Context(), kv.NewError(code, "")); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	return all
}

// longestWaits returns the longest wait of each turn over many transactions.
func longestWaits(t *testing.T, db *Database, code kv.Code, times int, delay int64) []time.Duration {
	t.Helper()
	longest := make([]time.Duration, times)
	for range 300 {
		tx := begin(t, db)
		if delay >= 0 {
			if err := tx.SetOption(kv.OptionMaxRetryDelay, delay); err != nil {
				t.Fatal(err)
			}
		}
		for i, wait := range waits(t, tx, code, times) {
			longest[i] = max(longest[i], wait)
		}
	}
	return longest
}

// TestOnErrorWaits checks the back-off: a random part of a delay that doubles up
// to max_retry_delay, 1 s if that is not set; a fixed wait after errors of the
// version; and up to 30 s where memory is short.
func TestOnErrorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memoryWith(t)
		const turns = 22
		for _, c := range []struct {
			code  kv.Code
			delay int64 // max_retry_delay in ms; -1: not set
			cap   time.Duration
		}{
			{kv.CodeNotCommitted, -1, time.Second},
			{kv.CodeCommitUnknownResult, 20, 20 * time.Millisecond},
			{kv.CodeCommitProxyMemoryLimitExceeded, -1, 30 * time.Second},
		} {
			for i, got := range longestWaits(t, db, c.code, turns, c.delay) {
				limit := min(100*time.Microsecond<<i, c.cap)
				if got > limit || got < limit/2 {
					t.Errorf("%d: the longest of many waits %d is %v, want at most %v and not far from it", int(c.code), i, got, limit)
				}
			}
		}
		for _, code := range []kv.Code{kv.CodeTransactionTooOld, kv.CodeFutureVersion} {
			tx := begin(t, db)
			for i, got := range waits(t, tx, code, 5) {
				if got != 10*time.Millisecond {
					t.Errorf("%d: wait %d is %v, want %v", int(code), i, got, 10*time.Millisecond)
				}
			}
			if err := tx.SetOption(kv.OptionMaxRetryDelay, 3); err != nil {
				t.Fatal(err)
			}
			if got := waits(t, tx, code, 1)[0]; got != 3*time.Millisecond {
				t.Errorf("%d: with max_retry_delay 3 the wait is %v", int(code), got)
			}
		}
	})
}

// TestRetryOptionsLast checks that the options that limit retries stay over
// OnError, that the timeout counts from the first attempt, and that Reset
// forgets them.
func TestRetryOptionsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memoryWith(t, "key")
		tx := begin(t, db)
		for option, arg := range map[kv.Option]int64{kv.OptionRetryLimit: 3, kv.OptionTimeout: 2000, kv.OptionMaxRetryDelay: 0} {
			if err := tx.SetOption(option, arg); err != nil {
				t.Fatal(err)
			}
		}
		conflict := kv.NewError(kv.CodeNotCommitted, "")
		for _, wait := range waits(t, tx, kv.CodeNotCommitted, 2) {
			if wait > time.Millisecond {
				t.Errorf("max_retry_delay 0 is forgotten: OnError waits %v", wait)
			}
		}
		time.Sleep(1900 * time.Millisecond)
		if _, err := tx.Get([]byte("key")).Get(t.Context()); err != nil {
			t.Errorf("before the timeout: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
		if _, err := tx.Get([]byte("key")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTimedOut {
			t.Errorf("2.1 s after the first attempt began: %v, want 1031", err)
		}
		tx.Reset()
		time.Sleep(3 * time.Second)
		if _, err := tx.Get([]byte("key")).Get(t.Context()); err != nil {
			t.Errorf("Reset keeps the timeout: %v", err)
		}
		for i := range 5 {
			if err := tx.OnError(t.Context(), conflict); err != nil {
				t.Errorf("Reset keeps the retry limit: retry %d: %v", i, err)
			}
		}
	})
}

// TestNewestIsNotTooOld lets a commit hang for a minute: what was the newest before
// stays readable, as versions then do not advance, even for a transaction that began
// one commit earlier, and while commits move to the base. Afterwards both are too old.
func TestNewestIsNotTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open("db", Options{FS: vfs.NewMem(), noAbsorb: true})
		if err != nil {
			t.Fatal(err)
		}
		defer closeTest(t, db)
		set := func(value string) func(kv.Transaction) {
			return func(tx kv.Transaction) { tx.Set([]byte("key"), []byte(value)) }
		}
		transact(t, db, set("1"))
		before := begin(t, db)
		version := readVersion(t, before)
		transact(t, db, set("2"))
		newest := begin(t, db)
		readVersion(t, newest)

		resume := sync.OnceFunc(db.committer.PauseDisk())
		defer resume()
		hanging := begin(t, db)
		set("3")(hanging)
		committed := hanging.CommitAsync()
		synctest.Wait()
		for range 12 {
			time.Sleep(kv.MaxTransactionAge)
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
			chosen, now := begin(t, db), begin(t, db)
			chosen.SetReadVersion(version)
			for _, c := range []struct {
				name string
				tx   kv.Transaction
				want string
			}{{"before", before, "1"}, {"newest", newest, "2"}, {"a chosen version", chosen, "1"}, {"now", now, "2"}, {"now, again", now, "2"}} {
				if got, err := c.tx.Get([]byte("key")).Get(t.Context()); err != nil || string(got) != c.want {
					t.Fatalf("%s: %q, %v, want %q", c.name, got, err, c.want)
				}
			}
		}
		resume()
		if _, err := committed.Get(t.Context()); err != nil {
			t.Error(err)
		}
		for _, tx := range []kv.Transaction{before, newest} {
			if _, err := tx.Get([]byte("key")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
				t.Errorf("after the commit a read gets %v, want 1007", err)
			}
		}
	})
}

// TestAdvanceVersion advances the versions of a database on the disk by more than a hundred
// years: at once, for good, and as far as it says.
func TestAdvanceVersion(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := begin(t, db)
	old := readVersion(t, before)
	above := old + int64(100*365*24*3600)*kv.VersionsPerSecond
	if err := db.AdvanceVersion(ctx, above); err != nil {
		t.Fatal(err)
	}
	now := readVersion(t, begin(t, db))
	if now <= above || now > above+3600*kv.VersionsPerSecond {
		t.Errorf("the version is %d, want one just above %d", now, above)
	}
	if _, err := before.Get([]byte("key")).Get(ctx); kv.CodeOf(err) != kv.CodeTransactionTooOld {
		t.Errorf("a read at the version %d: %v", old, err)
	}
	commits := db.Metrics().Commits
	if err := db.AdvanceVersion(ctx, above); err != nil || db.Metrics().Commits != commits {
		t.Errorf("the second call has written, or failed: %v", err)
	}
	for _, wrong := range []int64{-1, 1<<63 - 1} {
		if err := db.AdvanceVersion(ctx, wrong); err == nil {
			t.Errorf("advanced to %d", wrong)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.AdvanceVersion(ctx, above); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	wantAdvanced(t, dir, Options{ReadOnly: true}, above)
	wantAdvanced(t, dir, Options{}, above)
}

// wantAdvanced opens a database again after its versions were advanced.
func wantAdvanced(t *testing.T, dir string, o Options, above int64) {
	t.Helper()
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	now := readVersion(t, begin(t, db))
	if now <= above {
		t.Errorf("opened again, the version is %d, want one above %d", now, above)
	}
	if err := db.AdvanceVersion(t.Context(), now+3600*kv.VersionsPerSecond); o.ReadOnly != errors.Is(err, ErrReadOnly) {
		t.Errorf("advancing with ReadOnly %v: %v", o.ReadOnly, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
