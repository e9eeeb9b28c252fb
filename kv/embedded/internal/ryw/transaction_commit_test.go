// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// TestUnattended commits and does not wait: a timer drives a commit that is still queued.
// One that is over must not drive those of others, which may wait to be made together.
func TestUnattended(t *testing.T) {
	for name, queues := range map[string]bool{"queued": true, "over": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &fakeEngine{view: newFakeView(nil, false), queues: queues}
				tx := NewClient(e, kv.TransactionOptions{}).Begin()
				tx.Set([]byte("key"), nil)
				tx.CommitAsync()
				time.Sleep(2 * Unattended)
				synctest.Wait()
				if driven := e.drives == 1; driven != queues || len(e.queued) > 0 {
					t.Errorf("driven %d times, %d commits are queued", e.drives, len(e.queued))
				}
			})
		})
	}
}

// TestViewsAreReleased ends transactions that have read in all ways: each releases its view.
func TestViewsAreReleased(t *testing.T) {
	conflict := kv.NewError(kv.CodeNotCommitted, "a test says so")
	commit := func(t *testing.T, tx *Transaction) { _ = tx.Commit(t.Context()) }
	write := func(t *testing.T, tx *Transaction) {
		tx.Set([]byte("b"), nil)
		commit(t, tx)
	}
	for name, test := range map[string]struct {
		queues  bool
		outcome error
		end     func(t *testing.T, tx *Transaction)
	}{
		"a commit that writes": {end: write},
		"one that does not":    {end: commit},
		"a conflict":           {outcome: conflict, end: write},
		"a commit that waits": {queues: true, end: func(t *testing.T, tx *Transaction) {
			tx.Set([]byte("b"), nil)
			done := tx.CommitAsync()
			tx.Cancel()
			tx.engine.Drive()
			_, _ = done.Get(t.Context())
		}},
		"a commit that is too large": {end: func(t *testing.T, tx *Transaction) {
			tx.Set([]byte("b"), make([]byte, kv.MaxValueSize))
			_ = tx.SetOption(kv.OptionSizeLimit, 1000)
			commit(t, tx)
		}},
		"Cancel":        {end: func(_ *testing.T, tx *Transaction) { tx.Cancel() }},
		"Cancel, Reset": {end: func(_ *testing.T, tx *Transaction) { tx.Cancel(); tx.Reset() }},
		"Reset":         {end: func(_ *testing.T, tx *Transaction) { tx.Reset() }},
		"OnError":       {end: func(t *testing.T, tx *Transaction) { _ = tx.OnError(t.Context(), conflict) }},
		"another use":   {end: func(t *testing.T, tx *Transaction) { commit(t, tx); tx.Get([]byte("a")); commit(t, tx) }},
		"a read under way": {end: func(_ *testing.T, tx *Transaction) {
			tx.GetRange(kv.PrefixRange(nil).Selectors(), kv.RangeOptions{})
			tx.Cancel()
		}},
		"a version after Cancel": {end: func(_ *testing.T, tx *Transaction) { tx.Cancel(); tx.Reset(); tx.Cancel(); tx.SetReadVersion(5) }},
		"a version after a commit": {end: func(t *testing.T, tx *Transaction) {
			tx.Reset()
			commit(t, tx)
			if _, err := tx.GetReadVersion().Get(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"two reads under way": {end: func(t *testing.T, tx *Transaction) {
			b, c := tx.Get([]byte("b")), tx.Get([]byte("c"))
			_, _ = b.Get(t.Context())
			_, _ = c.Get(t.Context())
			commit(t, tx)
			if tx.firstPending[0] != nil {
				t.Error("it keeps a read")
			}
		}},
		"too old": {end: func(t *testing.T, tx *Transaction) {
			tx.engine.(*fakeEngine).age = kv.NewError(kv.CodeTransactionTooOld, "a test says so")
			if _, err := tx.Get([]byte("a")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
				t.Errorf("a read that is too late says %v", err)
			}
		}},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cold %t", name, cold), func(t *testing.T) {
				view := newFakeView(map[string]string{"a": "stored"}, cold)
				e := &fakeEngine{view: view, outcome: test.outcome, queues: test.queues}
				tx := NewClient(e, kv.TransactionOptions{}).Begin()
				if _, err := tx.Get([]byte("a")).Get(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := view.readers.Load(); n != 1 {
					t.Errorf("%d readers while it is open, want 1", n)
				}
				test.end(t, tx)
				if n := view.readers.Load(); n != 0 {
					t.Errorf("%d readers at its end, want 0", n)
				}
			})
		}
	}
}
