// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// getUntilError reads until that fails, and returns why.
func getUntilError(c *conformance, tx kv.ReadTransaction) error {
	for {
		_, err := tx.Get([]byte("a")).Get(c.ctx)
		if err != nil {
			return err
		}
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		time.Sleep(time.Millisecond)
	}
}

var lifecycleLaws = []law{
	{"a committed transaction cannot be used again before a reset", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		c.commit(tx)
		wantFuture(c, "Get", tx.Get([]byte("a")), kv.CodeUsedDuringCommit)
		c.wantCommit(tx, kv.CodeUsedDuringCommit)
		tx.Reset()
		c.want("a", c.get(tx, "a"), "1")
		tx.Set([]byte("a"), []byte("2"))
		c.commit(tx)
		c.wantContents("a=2")
	}},
	{"Reset forgets writes, reads and options", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionReadYourWritesDisable, 0), 0)
		c.get(tx, "a")
		tx.Set([]byte("b"), []byte("1"))
		tx.Reset()
		c.put("a", "2")
		c.want("a", c.get(tx, "a"), "2")
		c.want("b", c.get(tx, "b"), model.Absent)
		tx.Set([]byte("c"), []byte("1"))
		c.want("c, read-your-writes being on again", c.get(tx, "c"), "1")
		c.commit(tx)
		c.wantContents("a=2", "c=1")
	}},
	{"a cancelled transaction fails until Reset", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		tx.Cancel()
		wantFuture(c, "Get", tx.Get([]byte("a")), kv.CodeTransactionCancelled)
		_, err := tx.GetRange(model.UserKeys().Selectors(), kv.RangeOptions{}).Slice(c.ctx)
		c.wantCode("GetRange", err, kv.CodeTransactionCancelled)
		c.wantCode("OnError", tx.OnError(c.ctx, &kv.Error{Code: kv.CodeNotCommitted}), kv.CodeTransactionCancelled)
		c.wantCommit(tx, kv.CodeTransactionCancelled)
		tx.Reset()
		tx.Set([]byte("b"), []byte("1"))
		c.commit(tx)
		c.wantContents("b=1")
	}},
	{"Cancel may be called twice and after the commit", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		c.commit(tx)
		tx.Cancel()
		tx.Cancel()
		c.wantContents("a=1")
	}},
	{"OnError retries what can be retried", func(c *conformance) {
		for _, code := range []kv.Code{1007, 1009, 1020, 1021, 1037, 1038, 1042, 1051, 1078, 1079, 1213, 1223} {
			tx := c.begin()
			tx.Set([]byte("a"), nil)
			c.wantCode(fmt.Sprintf("OnError(%d)", code), tx.OnError(c.ctx, fmt.Errorf("wrapped: %w", &kv.Error{Code: code})), 0)
			c.want("a after the retry", c.get(tx, "a"), model.Absent)
		}
	}},
	{"OnError returns what cannot be retried", func(c *conformance) {
		for _, code := range []kv.Code{1000, 1025, 1026, 1031, 1036, 1039, 1101, 2000, 2017, 2101, 2102, 2103, 4100} {
			c.wantCode(fmt.Sprintf("OnError(%d)", code), c.begin().OnError(c.ctx, &kv.Error{Code: code}), code)
		}
		foreign := fmt.Errorf("no error of the engine")
		if err := c.begin().OnError(c.ctx, foreign); err != foreign { //nolint:errorlint // the same error comes back
			c.Errorf("OnError of a foreign error: %v", err)
		}
	}},
	{"a retry limit is kept over retries", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionRetryLimit, 2), 0)
		conflict := &kv.Error{Code: kv.CodeNotCommitted}
		c.wantCode("first retry", tx.OnError(c.ctx, conflict), 0)
		c.wantCode("second retry", tx.OnError(c.ctx, conflict), 0)
		c.wantCode("third retry", tx.OnError(c.ctx, conflict), kv.CodeNotCommitted)
	}},
	{"a timeout ends the transaction", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionTimeout, 5), 0)
		c.wantCode("Get in the end", getUntilError(c, tx), kv.CodeTransactionTimedOut)
		c.wantCommit(tx, kv.CodeTransactionTimedOut)
		c.wantCode("OnError", tx.OnError(c.ctx, &kv.Error{Code: kv.CodeNotCommitted}), kv.CodeTransactionTimedOut)
	}},
	{"the read version can be set before the first read only", func(c *conformance) {
		tx := c.begin()
		version := c.version(tx)
		tx.SetReadVersion(version)
		wantFuture(c, "Get", tx.Get([]byte("a")), kv.CodeReadVersionAlreadySet)
	}},
	{"read-your-writes can be disabled before the first read or write only", func(c *conformance) {
		tx := c.begin()
		c.get(tx, "a")
		err := tx.SetOption(kv.OptionReadYourWritesDisable, 0)
		if err == nil {
			err = tx.Commit(c.ctx)
		}
		c.wantCode("SetOption and Commit", err, kv.CodeClientInvalidOperation)
	}},
	{"there is no committed version before the commit", func(c *conformance) {
		version, err := c.begin().GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		c.want("version", version, int64(-1))
	}},
	{"a released transaction keeps its committed version and can be reset", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		c.commit(tx)
		before, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		tx.Release()
		tx.Release()
		version, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion after Release", err, 0)
		c.want("version", version, before)
		tx.Reset()
		c.want("a", c.get(tx, "a"), "1")
		tx.Set([]byte("a"), []byte("2"))
		c.commit(tx)
		c.wantContents("a=2")
	}},
	{"CommitAsync commits", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		future := tx.CommitAsync()
		c.soon("the commit", future.Done())
		wantFuture(c, "CommitAsync", future, 0)
		c.wantContents("a=1")
	}},
	{"an empty commit succeeds", func(c *conformance) {
		start := time.Now()
		c.wantCommit(c.begin(), 0)
		if took := time.Since(start); took > 5*time.Second {
			c.Errorf("it took %v", took)
		}
	}},
	{"conflict ranges are shown in order and merged", func(c *conformance) {
		tx := c.begin()
		for _, r := range []kv.KeyRange{model.Span("m", "p"), model.Span("a", "c"), model.Span("b", "d")} {
			c.wantCode("AddReadConflictRange", tx.AddReadConflictRange(r), 0)
		}
		tx.Set([]byte("k"), nil)
		read, write, err := tx.ConflictRanges(c.ctx)
		c.wantCode("ConflictRanges", err, 0)
		c.want("read", scenario.ShowRanges(read, nil), scenario.ShowRanges([]kv.KeyRange{model.Span("a", "d"), model.Span("m", "p")}, nil))
		c.want("write", scenario.ShowRanges(write, nil), scenario.ShowRanges([]kv.KeyRange{model.Span("k", "k\x00")}, nil))
	}},
}
