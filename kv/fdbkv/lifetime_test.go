// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// collectGarbage has a goroutine collect garbage until the test ends.
func collectGarbage(t *testing.T) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				runtime.GC()
			}
		}
	}()
	t.Cleanup(func() { close(quit); <-done })
}

// openOwn returns a database and the prefix of this test's keys.
func openOwn(t *testing.T, o fdbkv.Options) (*fdbkv.Database, string) {
	t.Helper()
	return enginetest.OpenOwn(t, o)
}

func begin(t *testing.T, db kv.Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func put(t *testing.T, db kv.Database, key, value string) {
	t.Helper()
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set([]byte(key), []byte(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The futures are all that is left of the transactions.
func TestFuturesOutliveTransactions(t *testing.T) {
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	put(t, db, prefix+"a", "1")
	for range 50 {
		var values []kv.Future[[]byte]
		var ranges []kv.RangeResult
		for range 20 {
			tx := begin(t, db)
			values = append(values, tx.Get([]byte(prefix+"a")))
			ranges = append(ranges, tx.GetRange(kv.PrefixRange([]byte(prefix)).Selectors(), kv.RangeOptions{}))
		}
		runtime.GC()
		for i, f := range values {
			if value, err := f.Get(t.Context()); err != nil || string(value) != "1" {
				t.Fatalf("Get = %q, %v", value, err)
			}
			if pairs, err := ranges[i].Slice(t.Context()); err != nil || len(pairs) != 1 {
				t.Fatalf("GetRange = %q, %v", pairs, err)
			}
		}
	}
}

// A commit is awaited through its future alone, and a versionstamp after it.
func TestCommitOutlivesItsTransaction(t *testing.T) {
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	for i := range 100 {
		commit, stamp := startCommit(t, db, fmt.Sprint(prefix, i))
		runtime.GC()
		if _, err := commit.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		if got, err := stamp.Get(t.Context()); err != nil || len(got) != kv.VersionstampSize {
			t.Fatalf("GetVersionstamp = %x, %v", got, err)
		}
	}
}

func startCommit(t *testing.T, db kv.Database, key string) (kv.Future[struct{}], kv.Future[[]byte]) {
	tx := begin(t, db)
	tx.Set([]byte(key), nil)
	stamp := tx.GetVersionstamp()
	return tx.CommitAsync(), stamp
}

// Results that no caller takes are freed. Other reads go on while a caller abandons
// some, whether it has begun to wait for them or not.
func TestAbandonedReads(t *testing.T) {
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	put(t, db, prefix+"a", "1")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 100 {
				tx, err := db.Begin()
				if err != nil {
					t.Error(err)
					return
				}
				for range 10 {
					f := tx.Get([]byte(prefix + "a"))
					if i%2 == 0 {
						f.Done() // the client will call back
					}
					if i%3 == 0 {
						f.Cancel()
					}
				}
				if i%5 == 0 {
					tx.Reset()
				}
				if value, err := tx.Get([]byte(prefix + "a")).Get(t.Context()); err != nil || string(value) != "1" {
					t.Errorf("Get = %q, %v", value, err)
				}
			}
		})
	}
	group.Wait()
}

func TestWatchOutlivesItsTransaction(t *testing.T) {
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	for i := range 20 {
		key := fmt.Sprint(prefix, i)
		watch := armWatch(t, db, key)
		runtime.GC()
		put(t, db, key, "1")
		if _, err := watch.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func armWatch(t *testing.T, db kv.Database, key string) kv.Future[struct{}] {
	t.Helper()
	tx := begin(t, db)
	watch := tx.Watch([]byte(key))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return watch
}

// Watches that are garbage make room for others.
func TestAbandonedWatchesAreFreed(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{MaxWatches: 20})
	refused := 0
	for i := range 200 {
		if watch := armWatch(t, db, fmt.Sprint(prefix, i)); watch.Ready() {
			_, err := watch.Get(t.Context())
			if kv.CodeOf(err) != kv.CodeTooManyWatches {
				t.Fatalf("Watch: %v", err)
			}
			refused++
			runtime.GC()
		}
	}
	if refused == 0 || refused > 150 {
		t.Errorf("%d of 200 watches were refused, want some", refused)
	}
}

// The outcome of a commit that was cancelled is unknown, but it is whole.
func TestCancelDuringCommit(t *testing.T) {
	collectGarbage(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	outcomes := map[string]int{}
	for i := range 200 {
		a, b := fmt.Sprint(prefix, i, "/a"), fmt.Sprint(prefix, i, "/b")
		tx := begin(t, db)
		tx.Set([]byte(a), nil)
		tx.Set([]byte(b), nil)
		commit := tx.CommitAsync()
		if i%2 == 0 {
			commit.Done()
		}
		tx.Cancel()
		_, err := commit.Get(t.Context())
		if code := kv.CodeOf(err); err != nil && code != kv.CodeTransactionCancelled {
			t.Fatalf("commit: %v", err)
		}
		wrote := count(t, db, fmt.Sprint(prefix, i, "/"))
		if wrote == 1 || err == nil && wrote != 2 {
			t.Fatalf("%d of 2 keys were written, and the commit said %v", wrote, err)
		}
		outcomes[fmt.Sprint(err == nil, wrote)]++
	}
	t.Log("acknowledged and written:", outcomes)
}

// count returns how many keys begin with prefix.
func count(t *testing.T, db kv.Database, prefix string) int {
	t.Helper()
	pairs, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange([]byte(prefix)).Selectors(), kv.RangeOptions{}).Slice(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(pairs)
}

func TestCloseWithTransactionsAlive(t *testing.T) {
	collectGarbage(t)
	for range 10 {
		db, prefix := openOwn(t, fdbkv.Options{})
		var group sync.WaitGroup
		var committed atomic.Int64
		ended := make(chan error, 16)
		for g := range 16 {
			group.Go(func() { ended <- incrementUntilError(t, db, fmt.Sprint(prefix, g%4), &committed) })
		}
		watch := armWatch(t, db, prefix+"watched")
		for committed.Load() < 50 {
			runtime.Gosched()
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		for range 16 {
			if err := <-ended; !errors.Is(err, kv.ErrClosed) {
				t.Errorf("a transaction on a closed database: %v, want ErrClosed", err)
			}
		}
		if _, err := watch.Get(t.Context()); !errors.Is(err, kv.ErrClosed) {
			t.Errorf("a watch of a closed database: %v, want ErrClosed", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("Close again: %v", err)
		}
	}
}

// incrementUntilError writes a key in transactions until one fails, and counts them.
func incrementUntilError(t *testing.T, db kv.Database, key string, committed *atomic.Int64) error {
	for {
		err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			value, err := tx.Get([]byte(key)).Get(t.Context())
			if err != nil {
				return err
			}
			tx.Set([]byte(key), append(value[:len(value):len(value)], '.')[:min(len(value)+1, 100)])
			return nil
		})
		if err != nil {
			return err
		}
		committed.Add(1)
	}
}

// openUnreachable opens a database of a cluster that does not answer.
func openUnreachable(t *testing.T) *fdbkv.Database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fdb.cluster")
	if err := os.WriteFile(file, []byte("unreachable:here@127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := fdbkv.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestContextEndsWaitingForAClusterThatIsDown(t *testing.T) {
	db := openUnreachable(t)
	cause := errors.New("out of patience")
	for name, wait := range map[string]func(context.Context) error{
		"Get": func(ctx context.Context) error {
			_, err := begin(t, db).Get([]byte("a")).Get(ctx)
			return err
		},
		"GetRange": func(ctx context.Context) error {
			_, err := begin(t, db).GetRange(kv.PrefixRange([]byte("a")).Selectors(), kv.RangeOptions{}).Slice(ctx)
			return err
		},
		"Commit": func(ctx context.Context) error {
			tx := begin(t, db)
			tx.Set([]byte("a"), nil)
			err := tx.Commit(ctx)
			if !errors.Is(err, kv.ErrOutcomeUnknown) {
				t.Errorf("Commit: %v, want ErrOutcomeUnknown", err)
			}
			return err
		},
		"Transact": func(ctx context.Context) error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				_, err := tx.Get([]byte("a")).Get(ctx)
				return err
			})
		},
		"Transact that waits for all": func(ctx context.Context) error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				_, err := tx.Get([]byte("a")).Get(context.WithoutCancel(ctx)) // the end of ctx cancels it
				return err
			})
		},
		"OnError": func(ctx context.Context) error {
			tx := begin(t, db)
			for {
				if err := tx.OnError(ctx, &kv.Error{Code: kv.CodeNotCommitted}); err != nil {
					return err
				}
			}
		},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
		if err := wait(ctx); !errors.Is(err, cause) {
			t.Errorf("%s: %v, want the context's cause", name, err)
		}
		cancel()
	}
}

func TestCloseEndsWaitingForAClusterThatIsDown(t *testing.T) {
	db := openUnreachable(t)
	tx := begin(t, db)
	get, version := tx.Get([]byte("a")), tx.GetReadVersion()
	get.Done()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := get.Get(t.Context()); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Get: %v, want ErrClosed", err)
	}
	if _, err := version.Get(t.Context()); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("GetReadVersion: %v, want ErrClosed", err)
	}
}

// A time limit of the transaction bounds its commit.
func TestTimeoutEndsACommitToAClusterThatIsDown(t *testing.T) {
	db := openUnreachable(t)
	tx, reader := begin(t, db), begin(t, db)
	if err := errors.Join(tx.SetOption(kv.OptionTimeout, 20), reader.SetOption(kv.OptionTimeout, 20)); err != nil {
		t.Fatal(err)
	}
	tx.Set([]byte("a"), nil)
	if err := tx.Commit(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTimedOut || !errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("Commit: %v, want %d and an unknown outcome", err, kv.CodeTransactionTimedOut)
	}
	if _, err := reader.Get([]byte("a")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTimedOut || kv.IsOutcomeUnknown(err) {
		t.Errorf("Get: %v, want %d alone", err, kv.CodeTransactionTimedOut)
	}
}

func TestNoGoroutineWaitsForARead(t *testing.T) {
	db := openUnreachable(t)
	tx := begin(t, db)
	before := runtime.NumGoroutine()
	for range 1000 {
		f := tx.Get([]byte("a"))
		f.Done()
		if f.Ready() {
			t.Fatal("a read of a cluster that is down is ready")
		}
	}
	if now := runtime.NumGoroutine(); now > before+5 {
		t.Errorf("%d goroutines before 1000 reads, %d while they are waited for", before, now)
	}
}
