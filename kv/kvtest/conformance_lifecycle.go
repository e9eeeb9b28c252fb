// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"fmt"
	"testing"
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

// RunDefaults checks the laws of [kv.TransactionDefaults]. open must return a
// database with the given defaults, of which nothing below \xff needs to be
// kept; it is called once for each law.
func RunDefaults(t *testing.T, open func(testing.TB, kv.TransactionDefaults) kv.Database) {
	t.Helper()
	for _, l := range defaultLaws {
		t.Run(l.name, func(t *testing.T) { checkDefault(t, l, open, lawTimeout) })
	}
}

// defaultLaw is a law of databases with such defaults.
type defaultLaw struct {
	law
	defaults kv.TransactionDefaults
}

func checkDefault(tb testing.TB, l defaultLaw, open func(testing.TB, kv.TransactionDefaults) kv.Database, limit time.Duration) {
	tb.Helper()
	with := func(tb testing.TB) kv.Database { return open(tb, l.defaults) }
	plain := open(tb, kv.TransactionDefaults{})
	checkLaw(tb, law{l.name, func(*conformance) {}}, plain, with, limit) // empties it
	c := newConformance(tb, with(tb), with, limit)
	l.check(c)
}

// defaultLaws use an error that can be retried, and sizes between the limits.
var defaultLaws = []defaultLaw{
	{law{"a default retry limit bounds OnError", func(c *conformance) {
		tx := c.begin()
		wantRetries(c, tx, 2)
		tx.Reset()
		wantRetries(c, tx, 2)
	}}, kv.TransactionDefaults{RetryLimit: 2}},
	{law{"a default retry limit can be lifted until Reset", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionRetryLimit, 3), 0)
		wantRetries(c, tx, 3)
		tx.Reset()
		wantRetries(c, tx, 2)
	}}, kv.TransactionDefaults{RetryLimit: 2}},
	{law{"a default retry limit ends Transact", func(c *conformance) {
		runs := 0
		err := c.db.Transact(c.ctx, func(kv.Transaction) error {
			runs++
			return errRetry
		})
		c.wantCode("Transact", err, kv.CodeNotCommitted)
		c.want("runs", runs, 3)
	}}, kv.TransactionDefaults{RetryLimit: 2}},
	{law{"a default size limit holds again after OnError and Reset", func(c *conformance) {
		tx := c.begin()
		wantLargeCommit(c, tx, kv.CodeTransactionTooLarge)
		tx.Reset()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSizeLimit, 100_000), 0)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		wantLargeCommit(c, tx, kv.CodeTransactionTooLarge)
		tx.Reset()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSizeLimit, 100_000), 0)
		wantLargeCommit(c, tx, 0)
		tx.Reset()
		wantLargeCommit(c, tx, kv.CodeTransactionTooLarge)
	}}, kv.TransactionDefaults{SizeLimit: 1000}},
	{law{"a default timeout ends transactions and what reads only", func(c *conformance) {
		tx := c.begin()
		c.wantCode("Get in the end", getUntilError(c, tx), kv.CodeTransactionTimedOut)
		tx.Reset()
		c.wantCode("Get in the end, after Reset", getUntilError(c, tx), kv.CodeTransactionTimedOut)
		err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error { return getUntilError(c, tx) })
		c.wantCode("ReadTransact", err, kv.CodeTransactionTimedOut)
	}}, kv.TransactionDefaults{Timeout: 20 * time.Millisecond}},
	{law{"a default timeout can be lifted, and stays lifted over OnError", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionTimeout, 0), 0)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		timed := c.begin()
		c.wantCode("Get of another in the end", getUntilError(c, timed), kv.CodeTransactionTimedOut)
		c.want("a", c.get(tx, "a"), model.Absent)
	}}, kv.TransactionDefaults{Timeout: 500 * time.Millisecond}},
	{law{"conflicting keys are told by default, after OnError too", func(c *conformance) {
		tx := c.begin()
		for range 2 {
			c.get(tx, "a")
			tx.Set([]byte("own"), nil)
			c.put("a", "other")
			err := tx.Commit(c.ctx)
			c.want("Error.Conflicts", scenario.ShowRanges(kv.ConflictsOf(err), nil), scenario.ShowRanges([]kv.KeyRange{model.Span("a", "a\x00")}, nil))
			c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
		}
	}}, kv.TransactionDefaults{ReportConflictingKeys: true}},
}

var errRetry = &kv.Error{Code: kv.CodeNotCommitted}

// wantRetries expects that OnError retries so often.
func wantRetries(c *conformance, tx kv.Transaction, want int) {
	c.Helper()
	for range want {
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
	}
	c.wantCode("OnError beyond the limit", tx.OnError(c.ctx, errRetry), kv.CodeNotCommitted)
}

// wantLargeCommit expects a code of a commit of some 2,000 bytes.
func wantLargeCommit(c *conformance, tx kv.Transaction, code kv.Code) {
	c.Helper()
	tx.Set([]byte("a"), make([]byte, 2000))
	c.wantCommit(tx, code)
}
