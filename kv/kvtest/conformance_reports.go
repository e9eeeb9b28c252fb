// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// reportLaws say what a commit tells of its conflict.
var reportLaws = []law{
	{"a conflict tells the reads that others wrote to", func(c *conformance) {
		tx := c.losing(true)
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", scenario.ShowRanges(kv.ConflictsOf(err), nil), scenario.ShowRanges(lostReads, nil))
		c.want("ConflictingKeys", c.told(tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"a conflict tells nothing unless the transaction asks", func(c *conformance) {
		tx := c.losing(false)
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", kv.ConflictsOf(err), []kv.KeyRange(nil))
		c.want("ConflictingKeys", c.told(tx), scenario.ShowRanges(nil, nil))
	}},
	{"conflicting keys stay until the next report", func(c *conformance) {
		tx := c.losing(true)
		err := tx.Commit(c.ctx)
		c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
		c.want("ConflictingKeys after OnError", c.told(tx), scenario.ShowRanges(lostReads, nil))
		c.commit(tx)
		c.want("ConflictingKeys after a commit", c.told(tx), scenario.ShowRanges(lostReads, nil))
		tx.Reset()
		c.want("ConflictingKeys after Reset", c.told(tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"OnError forgets that conflicting keys were asked for", func(c *conformance) {
		tx := c.losing(true)
		c.wantCode("OnError", tx.OnError(c.ctx, tx.Commit(c.ctx)), 0)
		c.get(tx, "a")
		tx.Set([]byte("own"), nil)
		c.put("a", "other")
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", kv.ConflictsOf(err), []kv.KeyRange(nil))
		c.want("ConflictingKeys", c.told(tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"conflict ranges that touch are told as one", func(c *conformance) {
		tx := c.asking()
		c.scan(tx, model.Span("a", "c").Selectors(), kv.RangeOptions{})
		c.scan(tx, model.Span("c", "f").Selectors(), kv.RangeOptions{})
		tx.Set([]byte("own"), nil)
		c.put("b", "1")
		err := tx.Commit(c.ctx)
		c.want("Error.Conflicts", scenario.ShowRanges(kv.ConflictsOf(err), nil), scenario.ShowRanges([]kv.KeyRange{model.Span("a", "f")}, nil))
	}},
}

// lostReads are the reads of losing that others have written to.
var lostReads = []kv.KeyRange{model.Span("d", "g"), model.Span("k", "k\x00")}

// losing returns a transaction whose commit conflicts: others wrote to two of
// the four places that it has read, once with a range. It reports the conflict
// if it is to.
func (c *conformance) losing(reports bool) kv.Transaction {
	c.Helper()
	c.put("a", "A", "e", "E", "k", "K", "m", "M")
	tx := c.begin()
	if reports {
		tx = c.asking()
	}
	c.get(tx, "a")
	c.scan(tx, model.Span("d", "g").Selectors(), kv.RangeOptions{})
	c.get(tx, "k")
	c.get(tx, "m")
	tx.Set([]byte("own"), nil)
	c.update(func(tx kv.Transaction) {
		tx.Set([]byte("f"), nil)
		tx.ClearRange(model.Span("j", "l"))
	})
	return tx
}

// asking returns a transaction that asks for conflicting keys.
func (c *conformance) asking() kv.Transaction {
	c.Helper()
	tx := c.begin()
	if _, ok := tx.(kv.ConflictRanger); !ok {
		c.Skip("the engine's transactions are no kv.ConflictRanger")
	}
	c.wantCode("SetOption", tx.SetOption(kv.OptionReportConflictingKeys, 0), 0)
	return tx
}

// told returns the conflicting keys of a transaction.
func (c *conformance) told(tx kv.Transaction) string {
	c.Helper()
	ranger, ok := tx.(kv.ConflictRanger)
	if !ok {
		c.Skip("the engine's transactions are no kv.ConflictRanger")
	}
	ranges, err := ranger.ConflictingKeys(c.ctx)
	c.wantCode("ConflictingKeys", err, 0)
	return fmt.Sprint(scenario.ShowRanges(ranges, nil))
}
