// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/kv"
)

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
		t.Errorf("the commit behind it gets %v", err)
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
