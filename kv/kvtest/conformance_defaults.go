// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

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
		c.wantRetries(tx, 2)
		tx.Reset()
		c.wantRetries(tx, 2)
	}}, kv.TransactionDefaults{RetryLimit: 2}},
	{law{"a default retry limit can be lifted until Reset", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionRetryLimit, 3), 0)
		c.wantRetries(tx, 3)
		tx.Reset()
		c.wantRetries(tx, 2)
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
		c.wantLargeCommit(tx, kv.CodeTransactionTooLarge)
		tx.Reset()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSizeLimit, 100_000), 0)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		c.wantLargeCommit(tx, kv.CodeTransactionTooLarge)
		tx.Reset()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSizeLimit, 100_000), 0)
		c.wantLargeCommit(tx, 0)
		tx.Reset()
		c.wantLargeCommit(tx, kv.CodeTransactionTooLarge)
	}}, kv.TransactionDefaults{SizeLimit: 1000}},
	{law{"a default timeout ends transactions and what reads only", func(c *conformance) {
		tx := c.begin()
		c.wantCode("Get in the end", c.getUntilError(tx), kv.CodeTransactionTimedOut)
		tx.Reset()
		c.wantCode("Get in the end, after Reset", c.getUntilError(tx), kv.CodeTransactionTimedOut)
		err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error { return c.getUntilError(tx) })
		c.wantCode("ReadTransact", err, kv.CodeTransactionTimedOut)
	}}, kv.TransactionDefaults{Timeout: 20 * time.Millisecond}},
	{law{"a default timeout can be lifted, and stays lifted over OnError", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionTimeout, 0), 0)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		timed := c.begin()
		c.wantCode("Get of another in the end", c.getUntilError(timed), kv.CodeTransactionTimedOut)
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
func (c *conformance) wantRetries(tx kv.Transaction, want int) {
	c.Helper()
	for range want {
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
	}
	c.wantCode("OnError beyond the limit", tx.OnError(c.ctx, errRetry), kv.CodeNotCommitted)
}

// wantLargeCommit expects a code of a commit of some 2,000 bytes.
func (c *conformance) wantLargeCommit(tx kv.Transaction, code kv.Code) {
	c.Helper()
	tx.Set([]byte("a"), make([]byte, 2000))
	c.wantCommit(tx, code)
}
