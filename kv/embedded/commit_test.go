// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// soon ends a wait that has no end.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), hang, errors.New("the committer does not make the commit"))
	t.Cleanup(cancel)
	return ctx
}

// TestMoreThanOneBatch queues more commits than one version can hold: a caller
// that waits for one of the rest gets its result.
func TestMoreThanOneBatch(t *testing.T) {
	before := ryw.Unattended
	ryw.Unattended = time.Hour
	defer func() { ryw.Unattended = before }()
	for name, db := range map[string]*Database{"memory": memoryWith(t), "disk": openOnDisk(t, Options{noAbsorb: true})} {
		t.Run(name, func(t *testing.T) {
			var last kv.Future[struct{}]
			for range math.MaxUint16 + 1 {
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				tx.Atomic(kv.Add, []byte("count"), []byte{1, 0, 0, 0})
				last = tx.CommitAsync()
			}
			if _, err := last.Get(soon(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestCommitWhileRefreshing commits while another goroutine replaces the view all
// the time: commits that find the locks held are made nevertheless.
func TestCommitWhileRefreshing(t *testing.T) {
	db := openOnDisk(t, Options{noAbsorb: true})
	stop := background(t, func() error {
		db.committer.Refresh()
		return nil
	})
	defer stop()
	commits := 20_000
	if testing.Short() {
		commits = 4000
	}
	for i := range commits {
		tx := begin(t, db)
		tx.Set([]byte("key"), fmt.Append(nil, i))
		if err := tx.Commit(soon(t)); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
}

// TestFaultWhileCommitsWait lets the disk fail while commits wait for room in the
// window: nothing will make room any more, so they fail at once.
func TestFaultWhileCommitsWait(t *testing.T) {
	fs := newFaultyFS(vfs.NewMem(), func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite })
	db := openTest(t, Options{FS: fs, WindowSize: 1 << 20, noAbsorb: true})
	reader := begin(t, db)
	if _, err := reader.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		transact(t, db, func(tx kv.Transaction) { tx.Set(fmt.Append(nil, i), make([]byte, kv.MaxValueSize)) })
		if u := db.disk.absorber.WindowUse(); u.Bytes > u.Limit {
			break
		}
	}
	tx := begin(t, db)
	tx.Set([]byte("waits"), nil)
	f := tx.CommitAsync()
	gone, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Get(gone); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the commit does not wait: %v", err)
	}
	fs.left.Store(0)
	_ = db.disk.fault.Raise("moving commits to the base", errorfs.ErrInjected)
	if _, err := f.Get(soon(t)); kv.CodeOf(err) != kv.CodeIOError || errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("the commit that waited gets %v, want a DiskError with a known outcome", err)
	}
	_ = db.Close()
}

// TestResultsDoNotShareRoom appends to what reads have returned: no two results
// may share the room after them, which append takes.
func TestResultsDoNotShareRoom(t *testing.T) {
	for name, db := range map[string]*Database{"memory": memoryWith(t), "disk": openOnDisk(t, Options{noAbsorb: true})} {
		t.Run(name, func(t *testing.T) {
			key, value := []byte("key"), []byte("value")
			check := func(what string, tx kv.Transaction) {
				t.Helper()
				got, err := tx.Get(key).Get(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if cap(got) != len(got) {
					t.Errorf("%s: the value from Get has room", what)
				}
				at, err := tx.GetKey(kv.FirstGreaterOrEqual([]byte("k"))).Get(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if cap(at) != len(at) {
					t.Errorf("%s: the key from GetKey has room", what)
				}
				for _, reverse := range []bool{false, true} {
					kvs, err := tx.GetRange(kv.SelectorRange{Begin: kv.FirstGreaterOrEqual([]byte("k")), End: kv.FirstGreaterOrEqual([]byte("l"))}, kv.RangeOptions{Reverse: reverse}).Slice(t.Context())
					if err != nil || len(kvs) != 1 {
						t.Fatal(kvs, err)
					}
					if p := kvs[0]; cap(p.Key) != len(p.Key) || cap(p.Value) != len(p.Value) {
						t.Errorf("%s: a pair from GetRange has room, reverse %v", what, reverse)
					}
				}
			}
			tx := begin(t, db)
			tx.Set(key, value)
			check("own write", tx)
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("window", begin(t, db))
			if db.disk != nil {
				absorbAll(t, db)
				check("base", begin(t, db))
				check("row cache", begin(t, db))
			}
			tx = begin(t, db)
			tx.Atomic(kv.AppendIfFits, key, value)
			check("own atomic", tx)
		})
	}
}

// TestFaultInPipeline lets the sync of one batch fail after the next one was
// decided against it: neither is ever seen, nor taken for committed; only of the
// first the outcome is unknown, and no watch fires.
func TestFaultInPipeline(t *testing.T) {
	var armed atomic.Bool
	entered, release := make(chan struct{}, 8), make(chan struct{})
	fs := newFaultyFS(vfs.NewMem(), func(op errorfs.Op) bool {
		if !armed.Load() || !onLog(errorfs.OpFileSyncData)(op) {
			return false
		}
		entered <- struct{}{}
		<-release
		return true
	})
	fs.left.Store(0)
	db := openTest(t, Options{FS: fs, noAbsorb: true})
	key := []byte("key")
	transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("old")) })
	reader := begin(t, db)
	expectValue(t, reader, key, "old")
	watcher := begin(t, db)
	watch := watcher.Watch(key)
	if err := watcher.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	armed.Store(true)
	first, second := begin(t, db), begin(t, db)
	first.Set(key, []byte("new"))
	one := first.CommitAsync()
	one.Ready() // begins it
	<-entered
	second.Atomic(kv.AppendIfFits, key, []byte("er"))
	two := second.CommitAsync()
	two.Ready()
	reader.Set([]byte("other"), nil)
	three := reader.CommitAsync()
	three.Ready()
	between := begin(t, db)
	expectValue(t, between, key, "old")
	close(release)

	if _, err := one.Get(soon(t)); kv.CodeOf(err) != kv.CodeIOError || !errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("the commit that was being written gets %v", err)
	}
	if _, err := two.Get(soon(t)); kv.CodeOf(err) != kv.CodeIOError || errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("the next commit gets %v", err)
	}
	if _, err := three.Get(soon(t)); !kv.IsConflict(err) && kv.CodeOf(err) != kv.CodeIOError {
		t.Errorf("the commit that would conflict with the first gets %v", err)
	}
	expectValue(t, begin(t, db), key, "old")
	db.committer.Refresh() // the view is not replaced by what did not happen
	expectValue(t, begin(t, db), key, "old")
	if watch.Ready() {
		t.Error("the watch fires for what did not happen")
	}
	armed.Store(false)
	_ = db.Close() // it may say what has failed
	if _, err := watch.Get(soon(t)); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("closing leaves the watch with %v", err)
	}
}

func expectValue(t *testing.T, tx kv.Transaction, key []byte, want string) {
	t.Helper()
	got, err := tx.Get(key).Get(t.Context())
	if err != nil || string(got) != want {
		t.Errorf("%q is %q, %v, want %q", key, got, err, want)
	}
}

// TestLoneReadNeedsNoReader gives no goroutine to reads: the goroutine that waits for the only
// read of its transaction makes that read, if nothing can end its wait.
func TestLoneReadNeedsNoReader(t *testing.T) {
	db, _ := openCold(t)
	db.readers.Wait()
	release := occupyReaders(t, db)
	defer release()
	tx := begin(t, db)
	if value, err := tx.Get(coldKey(1)).Get(context.Background()); err != nil || len(value) != 1000 {
		t.Errorf("Get: %d bytes, %v", len(value), err)
	}
	pairs, err := readPairs(tx, kv.KeyRange{Begin: coldKey(10), End: coldKey(20)}, kv.RangeOptions{})
	if err != nil || len(pairs) != 10 {
		t.Errorf("GetRange: %d pairs, %v; want 10", len(pairs), err)
	}
	tx.Cancel()
	if _, queued := db.readers.Counts(); queued != 0 {
		t.Errorf("%d reads wait for a goroutine", queued)
	}
}

// TestLoneReadEnds ends the wait for the only read of a transaction while the disk hangs.
func TestLoneReadEnds(t *testing.T) {
	ended := errors.New("the context has ended")
	timeout := func(o *Options) { o.Transactions.Timeout = time.Millisecond }
	for name, c := range map[string]struct {
		change func(*Options)
		begin  func(kv.Transaction) error
		ctx    func(*coldDisk) context.Context
		want   error
	}{
		"a context that ends": {ctx: func(disk *coldDisk) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { disk.await(t, 1); cancel(ended) }()
			return ctx
		}, want: ended},
		"a timeout":           {begin: func(tx kv.Transaction) error { return tx.SetOption(kv.OptionTimeout, 1) }, want: &kv.Error{Code: kv.CodeTransactionTimedOut}},
		"the default timeout": {change: timeout, want: &kv.Error{Code: kv.CodeTransactionTimedOut}},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			if c.change != nil {
				c.change(&db.disk.options)
				db.client = ryw.NewClient(&engine{db}, db.disk.options.Transactions)
			}
			disk.block(true)
			defer disk.block(false)
			tx := begin(t, db)
			defer tx.Cancel()
			if c.begin != nil {
				if err := c.begin(tx); err != nil {
					t.Fatal(err)
				}
			}
			ctx := context.Background()
			if c.ctx != nil {
				ctx = c.ctx(disk)
			}
			within(t, "Get", func() {
				if value, err := tx.Get(coldKey(5)).Get(ctx); !errors.Is(err, c.want) {
					t.Errorf("%d bytes, %v; want %v", len(value), err, c.want)
				}
			})
		})
	}
}

// TestTimeoutEndsCommit lets a commit hang: a timeout of the transaction, or the
// database's default, ends the wait for it. The commit goes on.
func TestTimeoutEndsCommit(t *testing.T) {
	const timeout = 200 * time.Millisecond
	for name, d := range map[string]kv.TransactionOptions{"option": {}, "default": {Timeout: timeout}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openTest(t, Options{FS: vfs.NewMem(), Transactions: d})
				defer closeTest(t, db)
				resume := db.committer.PauseDisk()
				began := time.Now()
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					tx.Set([]byte("key"), []byte("value"))
					if d.Timeout > 0 {
						return nil
					}
					return tx.SetOption(kv.OptionTimeout, timeout.Milliseconds())
				})
				if took := time.Since(began); kv.CodeOf(err) != kv.CodeTransactionTimedOut || !errors.Is(err, kv.ErrOutcomeUnknown) || took != timeout {
					t.Errorf("after %v: %v; want code %d and an unknown outcome after %v", took, err, kv.CodeTransactionTimedOut, timeout)
				}
				resume()
				synctest.Wait()
				if got := valueOf(t, db, []byte("key")); got != "value" {
					t.Errorf("the commit that went on has left %q", got)
				}
			})
		})
	}
}

// TestHeldReadStarts begins a read, which is held back, and then does something
// that must start it, while the disk hangs.
func TestHeldReadStarts(t *testing.T) {
	for name, start := range map[string]struct {
		do    func(tx kv.Transaction, f kv.Future[[]byte])
		reads int
	}{
		"asking for Done":   {func(_ kv.Transaction, f kv.Future[[]byte]) { f.Done() }, 1},
		"asking for Ready":  {func(_ kv.Transaction, f kv.Future[[]byte]) { f.Ready() }, 1},
		"another read":      {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.Get(coldKey(500)) }, 2},
		"a commit":          {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.CommitAsync() }, 1},
		"a watch, a commit": {func(tx kv.Transaction, _ kv.Future[[]byte]) { tx.Watch(coldKey(900)); tx.CommitAsync() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db, disk := openCold(t)
			tx := begin(t, db)
			disk.block(true)
			f := tx.Get(coldKey(5))
			start.do(tx, f)
			disk.await(t, start.reads)
			disk.block(false)
			if value, err := f.Get(bounded(t)); err != nil || len(value) != 1000 {
				t.Errorf("%d bytes, %v", len(value), err)
			}
			tx.Cancel()
		})
	}
}

// TestHeldReadIsGivenUp cancels a transaction before its only read has started.
func TestHeldReadIsGivenUp(t *testing.T) {
	db, disk := openCold(t)
	disk.block(true)
	defer disk.block(false)
	tx := begin(t, db)
	f := tx.Get(coldKey(5))
	tx.Cancel()
	_, err := f.Get(bounded(t))
	wantCode(t, "the read", err, kv.CodeTransactionCancelled)
}

func begin(t *testing.T, db *Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Cancel)
	return tx
}
