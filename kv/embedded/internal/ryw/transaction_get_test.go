// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// TestGetHoldsNoLock ends a transaction in every way while a Get of it looks into the
// cache: that does not wait for the Get. A Get that has to read the disk after it
// fails as one that was made later.
func TestGetHoldsNoLock(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Transaction)
		want kv.Code // of a Get that memory does not answer
	}{
		"nothing": {func(*Transaction) {}, 0},
		"Set":     {func(tx *Transaction) { tx.Set([]byte("a"), []byte("own")) }, 0},
		"Reset":   {func(tx *Transaction) { tx.Reset() }, kv.CodeTransactionCancelled},
		"Cancel":  {func(tx *Transaction) { tx.Cancel() }, kv.CodeTransactionCancelled},
		"Commit":  {func(tx *Transaction) { _ = tx.Commit(t.Context()) }, kv.CodeUsedDuringCommit},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cold %t", name, cold), func(t *testing.T) {
				view := newFakeView(map[string]string{"a": "stored"}, cold)
				tx := NewClient(&fakeEngine{view: view}, kv.TransactionDefaults{}).Begin()
				view.hook = func() {
					view.hook = nil
					c.end(tx)
				}
				value, err := tx.Get([]byte("a")).Get(t.Context())
				if want := c.want; cold && want != 0 {
					if kv.CodeOf(err) != want {
						t.Errorf("%q, %v, want code %d", value, err, want)
					}
				} else if err != nil || string(value) != "stored" {
					t.Errorf("%q, %v, want the stored value", value, err)
				}
			})
		}
	}
}

// TestConcurrentUse lets goroutines use one transaction at a time: nothing blocks, and
// each read finds a value that was there.
func TestConcurrentUse(t *testing.T) {
	for _, cold := range []bool{false, true} {
		tx := NewClient(&fakeEngine{view: newFakeView(map[string]string{"a": "stored", "b": "stored"}, cold)}, kv.TransactionDefaults{}).Begin()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 200 {
					tx.Set([]byte("a"), []byte("own"))
					value, err := tx.Get([]byte("b")).Get(t.Context())
					if err != nil || string(value) != "stored" {
						t.Errorf("Get: %q, %v", value, err)
					}
					pairs, err := tx.GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("c")}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
					if err != nil || len(pairs) != 2 || string(pairs[0].Value) != "own" {
						t.Errorf("GetRange: %q, %v", pairs, err)
					}
				}
			})
		}
		wg.Wait()
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestCommitStopsTimeout commits with a timeout of a minute: once the outcome is known, no
// timer keeps the transaction in memory.
func TestCommitStopsTimeout(t *testing.T) {
	for name, write := range map[string]func(*Transaction){
		"a commit":               func(tx *Transaction) { tx.Set([]byte("key"), nil) },
		"one that only reads":    func(tx *Transaction) { tx.Get([]byte("key")) },
		"one that is refused":    func(tx *Transaction) { tx.Set([]byte("key"), nil); _ = tx.SetOption(kv.OptionReadLockAware, 0) },
		"one that waits for one": func(tx *Transaction) { tx.Set([]byte("key"), nil); tx.Get([]byte("cold")) },
	} {
		tx := NewClient(&fakeEngine{view: newFakeView(nil, true)}, kv.TransactionDefaults{Timeout: time.Minute}).Begin()
		timer := tx.deadline.timer
		write(tx)
		_ = tx.Commit(t.Context())
		if timer.Stop() {
			t.Errorf("%s: the timer still runs", name)
		}
	}
}
