// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// RunOptions checks the laws of [kv.TransactionOptions]: of those with which a database is
// opened, and of those of [kv.With]. open must return a database with the given options,
// of which nothing below \xff needs to be kept; it is called some times for each law.
func RunOptions(t *testing.T, open func(testing.TB, kv.TransactionOptions) kv.Database) {
	t.Helper()
	later := func(tb testing.TB, o kv.TransactionOptions) kv.Database {
		return kv.With(open(tb, kv.TransactionOptions{}), o)
	}
	for _, l := range optionLaws {
		t.Run(l.name, func(t *testing.T) { checkOption(t, l, open, lawTimeout) })
		t.Run("with/"+l.name, func(t *testing.T) { checkOption(t, l, later, lawTimeout) })
	}
}

// optionLaw is a law of databases with such options.
type optionLaw struct {
	law
	options kv.TransactionOptions
}

func checkOption(tb testing.TB, l optionLaw, open func(testing.TB, kv.TransactionOptions) kv.Database, limit time.Duration) {
	tb.Helper()
	with := func(tb testing.TB) kv.Database { return open(tb, l.options) }
	plain := open(tb, kv.TransactionOptions{})
	checkLaw(tb, law{l.name, func(*conformance) {}}, plain, with, limit) // empties it
	c := newConformance(tb, with(tb), with, limit)
	l.check(c)
}

// optionLaws use an error that can be retried, and sizes between the limits.
var optionLaws = []optionLaw{
	{law{"a default retry limit bounds OnError", func(c *conformance) {
		tx := c.begin()
		wantRetries(c, tx, 2)
		tx.Reset()
		wantRetries(c, tx, 2)
	}}, kv.TransactionOptions{RetryLimit: 2}},
	{law{"a default retry limit can be lifted until Reset", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionRetryLimit, 3), 0)
		wantRetries(c, tx, 3)
		tx.Reset()
		wantRetries(c, tx, 2)
	}}, kv.TransactionOptions{RetryLimit: 2}},
	{law{"a default retry limit ends Transact", func(c *conformance) {
		runs := 0
		err := c.db.Transact(c.ctx, func(kv.Transaction) error {
			runs++
			return errRetry
		})
		c.wantCode("Transact", err, kv.CodeNotCommitted)
		c.want("runs", runs, 3)
	}}, kv.TransactionOptions{RetryLimit: 2}},
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
	}}, kv.TransactionOptions{SizeLimit: 1000}},
	{law{"a default timeout ends transactions and what reads only", func(c *conformance) {
		tx := c.begin()
		c.wantCode("Get in the end", getUntilError(c, tx), kv.CodeTransactionTimedOut)
		tx.Reset()
		c.wantCode("Get in the end, after Reset", getUntilError(c, tx), kv.CodeTransactionTimedOut)
		err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error { return getUntilError(c, tx) })
		c.wantCode("ReadTransact", err, kv.CodeTransactionTimedOut)
	}}, kv.TransactionOptions{Timeout: 20 * time.Millisecond}},
	{law{"a default timeout can be lifted, and stays lifted over OnError", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionTimeout, 0), 0)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		timed := c.begin()
		c.wantCode("Get of another in the end", getUntilError(c, timed), kv.CodeTransactionTimedOut)
		c.want("a", c.get(tx, "a"), model.Absent)
	}}, kv.TransactionOptions{Timeout: 500 * time.Millisecond}},
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
	}}, kv.TransactionOptions{ReportConflictingKeys: true}},
	{law{"what names and ranks a load changes no result, in any attempt", func(c *conformance) {
		tx := c.begin()
		for _, again := range []func(){
			func() { c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0) }, tx.Reset, func() {},
		} {
			c.want("b", c.get(tx, "b"), model.Absent)
			tx.Set([]byte("own"), nil)
			again()
		}
		tx.Set([]byte("b"), []byte("1"))
		c.wantCommit(tx, 0)
		runs := 0
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			c.want("b", c.get(tx, "b"), "1")
			if runs++; runs < 3 {
				return errRetry
			}
			return nil
		})
		c.wantCode("Transact", err, 0)
		err = c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
			c.want("b", c.get(tx, "b"), "1")
			return nil
		})
		c.wantCode("ReadTransact", err, 0)
	}}, aLoad},
	{law{"options are set before the first read and write", func(c *conformance) {
		read, written := c.begin(), c.begin()
		c.get(read, "a")
		written.Set([]byte("a"), nil)
		for _, tx := range []kv.Transaction{read, written} {
			c.wantCode("SetOptions", tx.SetOptions(kv.TransactionOptions{SizeLimit: 1000}), kv.CodeClientInvalidOperation)
			c.wantCode("SetOptions of the view", tx.Snapshot().SetOptions(kv.TransactionOptions{SizeLimit: 1000}), kv.CodeClientInvalidOperation)
			wantLargeCommit(c, tx, 0)
		}
		err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
			c.get(tx, "a")
			return tx.SetOptions(kv.TransactionOptions{SizeLimit: 1000})
		})
		c.wantCode("SetOptions in ReadTransact", err, kv.CodeClientInvalidOperation)
	}}, kv.TransactionOptions{}},
	{law{"options leave the read version alone that was set before", func(c *conformance) {
		old, err := c.begin().GetReadVersion().Get(c.ctx)
		c.wantCode("GetReadVersion", err, 0)
		c.put("a", "later")
		tx := c.begin()
		tx.SetReadVersion(old)
		c.wantCode("SetOptions", tx.SetOptions(kv.TransactionOptions{SizeLimit: 1000, Tags: []string{"t"}}), 0)
		c.want("a", c.get(tx, "a"), model.Absent)
	}}, kv.TransactionOptions{Tags: []string{"other"}}},
	{law{"a weak read sees what was committed and read before", func(c *conformance) {
		for n := range 5 {
			want := fmt.Sprint(n)
			c.put("a", want)
			for range 2 {
				err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
					c.want("a", c.get(tx, "a"), want)
					return nil
				})
				c.wantCode("ReadTransact", err, 0)
			}
			tx := c.begin()
			c.want("a in a transaction that writes", c.get(tx, "a"), want)
			tx.Set([]byte("b"), []byte(want))
			c.wantCommit(tx, 0)
			c.want("b", c.get(c.begin().Snapshot(), "b"), want)
		}
	}}, kv.TransactionOptions{MaxStaleness: 4 * time.Second}},
	{law{"a weak read conflicts with what was committed since", func(c *conformance) {
		c.put("a", "first")
		tx := c.begin()
		c.want("a", c.get(tx, "a"), "first")
		c.put("a", "other")
		tx.Set([]byte("b"), nil)
		c.wantCommit(tx, kv.CodeNotCommitted)
		c.wantCode("OnError", tx.OnError(c.ctx, errRetry), 0)
		c.want("a", c.get(tx, "a"), "other")
		tx.Set([]byte("b"), nil)
		c.wantCommit(tx, 0)
	}}, kv.TransactionOptions{MaxStaleness: 4 * time.Second}},
	{law{"a read is not older than AtLeast", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		c.wantCommit(tx, 0)
		version, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		seen := c.begin()
		c.wantCode("SetOptions", seen.SetOptions(kv.TransactionOptions{AtLeast: version, MaxStaleness: time.Second}), 0)
		c.want("a", c.get(seen, "a"), "1")
		reads := map[string]func(kv.Transaction) error{
			"Get":            func(tx kv.Transaction) error { _, err := tx.Get([]byte("a")).Get(c.ctx); return err },
			"GetReadVersion": func(tx kv.Transaction) error { _, err := tx.GetReadVersion().Get(c.ctx); return err },
		}
		for verb, read := range reads {
			tx := c.begin()
			c.wantCode("SetOptions", tx.SetOptions(kv.TransactionOptions{AtLeast: version + 1e12}), 0)
			c.wantCode(verb+" of a database that has not come so far", read(tx), kv.CodeVersionInvalid)
		}
	}}, kv.TransactionOptions{}},
	{law{"the last options hold, and those that it does not name", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOptions", tx.SetOptions(kv.TransactionOptions{SizeLimit: 10_000, Priority: kv.PriorityDefault, Identifier: "another"}), 0)
		c.wantCode("SetOptions", tx.SetOptions(kv.TransactionOptions{RetryLimit: 1}), 0)
		for range 2 {
			wantLargeCommit(c, tx, 0)
			tx.Reset()
			wantRetries(c, tx, 1)
			tx.Reset()
		}
	}}, kv.TransactionOptions{SizeLimit: 1000, Priority: kv.PriorityBatch, Identifier: "one"}},
	{law{"invalid options are an error of every transaction", func(c *conformance) {
		const fault = "has 17 bytes"
		wrong := kv.With(c.db, kv.TransactionOptions{Tags: []string{"a tag too long by"}})
		_, begun := wrong.Begin()
		for verb, err := range map[string]error{
			"Begin": begun, "SetOptions": c.begin().SetOptions(kv.TransactionOptions{ThrottledTags: []string{"a tag too long by"}}),
			"Transact":     wrong.Transact(c.ctx, func(kv.Transaction) error { return nil }),
			"ReadTransact": wrong.ReadTransact(c.ctx, func(kv.ReadTransaction) error { return nil }),
		} {
			if err == nil || !strings.Contains(err.Error(), fault) {
				c.Errorf("%s = %v, want an error that says %q", verb, err, fault)
			}
		}
	}}, kv.TransactionOptions{}},
}

// aLoad is one of everything that an operator of a cluster tells loads apart by.
var aLoad = kv.TransactionOptions{
	Priority: kv.PriorityBatch, Tags: []string{"a", "reports"}, ThrottledTags: []string{"tenant-1"},
	Identifier: "nightly report", Log: true, AuthorizationToken: "secret",
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
