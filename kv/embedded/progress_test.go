// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
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
// may share the room behind them, which append takes.
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
