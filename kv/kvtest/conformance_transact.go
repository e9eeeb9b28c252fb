// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

var errOwn = errors.New("the function's own error")

var transactLaws = []law{
	{"Transact commits", func(c *conformance) {
		got, err := kv.Transact(c.ctx, c.db, func(tx kv.Transaction) (string, error) {
			tx.Set([]byte("a"), []byte("1"))
			return "value", nil
		})
		c.wantCode("Transact", err, 0)
		c.want("its value", got, "value")
		c.wantContents("a=1")
	}},
	{"Transact runs the function again after a conflict", func(c *conformance) {
		runs := 0
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			value, err := tx.Get([]byte("a")).Get(c.ctx)
			if err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			if runs++; runs == 1 {
				c.put("a", "theirs")
			}
			tx.Set([]byte("copy"), value)
			return nil
		})
		c.wantCode("Transact", err, 0)
		if runs < 2 {
			c.Errorf("the function ran %d times", runs)
		}
		c.wantContents("a=theirs", "copy=theirs")
	}},
	{"Transact runs the function again after its own retryable error", func(c *conformance) {
		runs := 0
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			runs++
			tx.Set(fmt.Appendf(nil, "run%d", runs), nil)
			if runs == 1 {
				return fmt.Errorf("wrapped: %w", &kv.Error{Code: kv.CodeTransactionTooOld})
			}
			tx.Set([]byte("done"), nil)
			return nil
		})
		c.wantCode("Transact", err, 0)
		first, _ := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) ([]byte, error) {
			return tx.Get([]byte("run1")).Get(c.ctx)
		})
		if first != nil {
			c.Error("a write of the failed attempt was committed")
		}
	}},
	{"Transact returns the function's error and commits nothing", func(c *conformance) {
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("a"), []byte("1"))
			return fmt.Errorf("wrapped: %w", errOwn)
		})
		if !errors.Is(err, errOwn) {
			c.Errorf("Transact: %v, want %v", err, errOwn)
		}
		c.wantContents()
	}},
	{"Transact returns an error that cannot be retried", func(c *conformance) {
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("k"), long(kv.MaxValueSize+1))
			return nil
		})
		c.wantCode("Transact", err, kv.CodeValueTooLarge)
	}},
	{"Transact on a transaction is a part of it", func(c *conformance) {
		tx := c.begin()
		runs := 0
		err := tx.Transact(c.ctx, func(inner kv.Transaction) error {
			runs++
			inner.Set([]byte("a"), []byte("1"))
			return nil
		})
		c.wantCode("Transact", err, 0)
		c.want("runs", runs, 1)
		c.want("a within", c.get(tx, "a"), "1")
		c.wantContents()
		c.commit(tx)
		c.wantContents("a=1")
	}},
	{"Transact on a transaction does not retry", func(c *conformance) {
		runs := 0
		err := c.begin().Transact(c.ctx, func(kv.Transaction) error {
			runs++
			return &kv.Error{Code: kv.CodeNotCommitted}
		})
		c.wantCode("Transact", err, kv.CodeNotCommitted)
		c.want("runs", runs, 1)
	}},
	{"ReadTransact reads one version", func(c *conformance) {
		c.put("a", "1", "b", "1")
		changed := false
		got, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) (string, error) {
			a, err := tx.Get([]byte("a")).Get(c.ctx)
			if err != nil {
				return "", err
			}
			if !changed {
				changed = true
				c.put("a", "2", "b", "2")
			}
			b, err := tx.Get([]byte("b")).Get(c.ctx)
			return string(a) + string(b), err
		})
		c.wantCode("ReadTransact", err, 0)
		if got != "11" && got != "22" {
			c.Errorf("read %q: two versions", got)
		}
	}},
	{"ReadTransact retries", func(c *conformance) {
		runs := 0
		err := c.db.ReadTransact(c.ctx, func(kv.ReadTransaction) error {
			if runs++; runs == 1 {
				return &kv.Error{Code: kv.CodeTransactionTooOld}
			}
			return nil
		})
		c.wantCode("ReadTransact", err, 0)
		if runs < 2 {
			c.Errorf("it ran %d times", runs)
		}
	}},
	{"ReadTransact on a transaction and on a snapshot is a part of it", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("own"))
		for name, reader := range map[string]kv.ReadTransactor{"transaction": tx, "snapshot": tx.Snapshot()} {
			got, err := kv.ReadTransact(c.ctx, reader, func(tx kv.ReadTransaction) (string, error) {
				value, err := tx.Get([]byte("a")).Get(c.ctx)
				return string(value), err
			})
			c.wantCode(name, err, 0)
			c.want(name, got, "own")
		}
		if err := tx.ReadTransact(c.ctx, func(kv.ReadTransaction) error { return errOwn }); !errors.Is(err, errOwn) {
			c.Errorf("ReadTransact: %v, want %v", err, errOwn)
		}
	}},
	{"a snapshot within ReadTransact on a snapshot adds no conflict", func(c *conformance) {
		tx := c.beginReading()
		err := tx.Snapshot().ReadTransact(c.ctx, func(view kv.ReadTransaction) error {
			_, err := view.Get([]byte("a")).Get(c.ctx)
			return err
		})
		c.wantCode("ReadTransact", err, 0)
		tx.Set([]byte("b"), nil)
		c.put("a", "1")
		c.wantCommit(tx, 0)
	}},
}

var contextLaws = []law{
	{"an ended context commits nothing", func(c *conformance) {
		ctx, cancel := context.WithCancelCause(c.ctx)
		cancel(errOwn)
		err := c.db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("a"), nil)
			return nil
		})
		if !errors.Is(err, errOwn) {
			c.Errorf("Transact: %v, want the context's cause", err)
		}
		c.wantContents()
	}},
	{"the end of the context stops the retries", func(c *conformance) {
		ctx, cancel := context.WithCancelCause(c.ctx)
		runs := 0
		err := c.db.Transact(ctx, func(kv.Transaction) error {
			if runs++; runs == 3 {
				cancel(errOwn)
			}
			return &kv.Error{Code: kv.CodeNotCommitted}
		})
		if !errors.Is(err, errOwn) || errors.Is(err, kv.ErrOutcomeUnknown) {
			c.Errorf("Transact: %v, want the context's cause and no doubt", err)
		}
		c.want("runs", runs, 3)
	}},
	{"the end of the context cancels the transaction", func(c *conformance) {
		ctx, cancel := context.WithTimeout(c.ctx, 20*time.Millisecond)
		defer cancel()
		err := c.db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("b"), nil)
			return getUntilError(c, tx)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			c.Errorf("Transact: %v, want %v", err, context.DeadlineExceeded)
		}
		c.wantContents()
	}},
	{"Get returns the context's error, the read goes on", func(c *conformance) {
		ctx, cancel := context.WithCancelCause(c.ctx)
		cancel(errOwn)
		c.put("a", "1")
		future := c.begin().Get([]byte("a"))
		if value, err := future.Get(ctx); err != nil && !errors.Is(err, errOwn) {
			c.Errorf("Get with an ended context: %q, %v", value, err)
		}
		value, err := future.Get(c.ctx)
		c.wantCode("Get again", err, 0)
		c.want("the value", string(value), "1")
	}},
	{"an abandoned commit is whole or absent", func(c *conformance) {
		for range 20 {
			ctx, cancel := context.WithCancel(c.ctx)
			tx := c.begin()
			c.get(tx, "settled")
			tx.ClearRange(model.Span("a", "c"))
			tx.Set([]byte("a"), []byte("1"))
			tx.Set([]byte("b"), []byte("1"))
			go cancel()
			err := tx.Commit(ctx)
			if err != nil && !errors.Is(err, kv.ErrOutcomeUnknown) && !errors.Is(err, context.Canceled) {
				c.wantCode("Commit", err, kv.CodeTransactionCancelled)
			}
			if got := fmt.Sprint(c.contents()); got != "[]" && got != "[a=1 b=1]" {
				c.Errorf("contents: %s", got)
			}
		}
		c.put("settled", "") // commits that are still under way conflict from now on, and do not disturb the next law
	}},
}

var closingLaws = []law{
	{"everything fails with ErrClosed after Close", func(c *conformance) {
		db := c.open(c.TB)
		inFlight, err := db.Begin()
		c.wantCode("Begin", err, 0)
		if err := db.Close(); err != nil {
			c.Fatalf("Close: %v", err)
		}
		_, begin := db.Begin()
		ran := false
		_, get := inFlight.Get([]byte("a")).Get(c.ctx)
		inFlight.Set([]byte("a"), nil)
		for name, err := range map[string]error{
			"Begin":        begin,
			"Transact":     db.Transact(c.ctx, func(kv.Transaction) error { ran = true; return nil }),
			"ReadTransact": db.ReadTransact(c.ctx, func(kv.ReadTransaction) error { ran = true; return nil }),
			"Get":          get,
			"Commit":       inFlight.Commit(c.ctx),
		} {
			if !errors.Is(err, kv.ErrClosed) {
				c.Errorf("%s: %v, want ErrClosed", name, err)
			}
		}
		if ran {
			c.Error("a function ran on a closed database")
		}
	}},
	{"Close ends pending watches", func(c *conformance) {
		db := c.open(c.TB)
		tx, err := db.Begin()
		c.wantCode("Begin", err, 0)
		future := tx.Watch([]byte("a"))
		c.commit(tx)
		if err := db.Close(); err != nil {
			c.Fatalf("Close: %v", err)
		}
		c.soon("the end of the watch", future.Done())
	}},
}

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
