// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// watch arms a watch.
func (c *conformance) watch(key string) kv.Future[struct{}] {
	c.Helper()
	tx := c.begin()
	future := tx.Watch([]byte(key))
	c.Cleanup(future.Cancel)
	c.commit(tx)
	return future
}

var watchLaws = []law{
	{"a watch fires after a change", func(c *conformance) {
		c.put("a", "1", "gone", "1")
		changes := map[string]func(kv.Transaction){
			"a":     func(tx kv.Transaction) { tx.Set([]byte("a"), []byte("2")) },
			"gone":  func(tx kv.Transaction) { tx.ClearRange(model.Span("g", "h")) },
			"new":   func(tx kv.Transaction) { tx.Set([]byte("new"), nil) },
			"count": func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("count"), []byte{1}) },
		}
		for key, change := range changes {
			future := c.watch(key)
			c.update(change)
			c.soon("the watch of "+key, future.Done())
			wantFuture(c, "Watch", future, 0)
		}
	}},
	{"a watch outlives its transaction's reset", func(c *conformance) {
		tx := c.begin()
		future := tx.Watch([]byte("a"))
		c.commit(tx)
		tx.Reset()
		c.put("a", "1")
		c.soon("the watch", future.Done())
		wantFuture(c, "Watch", future, 0)
	}},
	{"a change before the watch is armed is not missed", func(c *conformance) {
		tx := c.begin()
		c.want("a", c.get(tx, "a"), model.Absent)
		c.put("a", "1")
		future := tx.Watch([]byte("a"))
		c.commit(tx)
		c.soon("the watch", future.Done())
	}},
	{"watching is no write", func(c *conformance) {
		tx := c.begin()
		tx.Watch([]byte("a"))
		c.commit(tx)
		version, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		c.want("the committed version", version, int64(-1))
	}},
	{"watching is a read", func(c *conformance) {
		tx := c.beginReading()
		future := tx.Watch([]byte("a"))
		tx.Set([]byte("b"), nil)
		c.put("a", "1")
		c.wantCommit(tx, kv.CodeNotCommitted)
		wantFuture(c, "Watch", future, kv.CodeNotCommitted)
	}},
	{"a cancelled watch says so", func(c *conformance) {
		future := c.watch("a")
		future.Cancel()
		c.soon("the end of the watch", future.Done())
		if _, err := future.Get(c.ctx); err != nil { // it may have fired before
			c.wantCode("Watch", err, kv.CodeOperationCancelled)
		}
	}},
	{"a watch of a transaction that does not commit fails", func(c *conformance) {
		tx := c.begin()
		future := tx.Watch([]byte("a"))
		tx.Reset()
		wantFuture(c, "Watch after Reset", future, kv.CodeTransactionCancelled)
		c.get(tx, "a")
		future = tx.Watch([]byte("b"))
		tx.Set([]byte("c"), nil)
		c.put("a", "1")
		c.wantCommit(tx, kv.CodeNotCommitted)
		wantFuture(c, "Watch after a conflict", future, kv.CodeNotCommitted)
	}},
	{"waiting for a watch ends with its context", func(c *conformance) {
		tx := c.begin()
		future := tx.Watch([]byte("a")) // not armed: it cannot fire
		ctx, cancel := context.WithTimeout(c.ctx, 5*time.Millisecond)
		defer cancel()
		if _, err := future.Get(ctx); err == nil || kv.CodeOf(err) != 0 {
			c.Errorf("Get with an ended context: %v", err)
		}
	}},
	{"watches need read-your-writes", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionReadYourWritesDisable, 0), 0)
		wantFuture(c, "Watch", tx.Watch([]byte("a")), kv.CodeWatchesDisabled)
	}},
}
