// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// anomalyLaws are named after the anomaly that each excludes.
var anomalyLaws = slices.Concat(dirtyLaws, updateLaws, skewLaws, phantomLaws, racingAnomalyLaws)

// dirtyLaws are about writes that are not there yet.
var dirtyLaws = []law{
	{"dirty write: of two transactions that write together", func(c *conformance) {
		one, two := c.beginReading(), c.beginReading()
		one.Set([]byte("x"), []byte("1"))
		two.Set([]byte("y"), []byte("2"))
		two.Set([]byte("x"), []byte("2"))
		one.Set([]byte("y"), []byte("1"))
		c.commit(two)
		c.wantContents("x=2", "y=2")
		c.commit(one)
		c.wantContents("x=1", "y=1")
	}},
	{"dirty write: of a range that is cleared", func(c *conformance) {
		c.put("x", "0", "y", "0")
		one, two := c.begin(), c.begin()
		one.ClearRange(model.UserKeys())
		two.Set([]byte("y"), []byte("2"))
		one.Set([]byte("x"), []byte("1"))
		c.commit(two)
		c.commit(one)
		c.wantContents("x=1")
	}},
	{"dirty read: of what is never committed", func(c *conformance) {
		c.put("x", "0")
		tx := c.begin()
		tx.Set([]byte("x"), []byte("1"))
		tx.Set([]byte("y"), []byte("1"))
		c.wantContents("x=0")
		tx.Cancel()
		c.wantContents("x=0")
	}},
	{"dirty read: of a transaction that fails", func(c *conformance) {
		c.put("x", "0")
		tx := c.begin()
		c.get(tx, "x")
		tx.Set([]byte("y"), []byte("1"))
		tx.Atomic(kv.Add, []byte("n"), []byte{1})
		c.put("x", "1")
		c.wantCommit(tx, kv.CodeNotCommitted)
		c.wantContents("x=1")
	}},
	{"dirty read: of what a transaction writes over", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("x"), []byte("first"))
		before := c.beginReading()
		tx.Set([]byte("x"), []byte("last"))
		c.commit(tx)
		c.want("x before the commit", c.get(before, "x"), model.Absent)
		c.wantContents("x=last")
	}},
}

// updateLaws are about two transactions that change the same key.
var updateLaws = []law{
	{"lost update: by reads and sets", func(c *conformance) {
		c.put("n", "1")
		c.refuseSecond(func(tx kv.Transaction) {
			tx.Set([]byte("n"), []byte(c.get(tx, "n")+"+1"))
		})
		c.wantContents("n=1+1")
	}},
	{"lost update: of a key that was absent", func(c *conformance) {
		c.refuseSecond(func(tx kv.Transaction) {
			if c.get(tx, "n") == model.Absent {
				tx.Set([]byte("n"), []byte("mine"))
			}
		})
	}},
	{"lost update: by a clear", func(c *conformance) {
		c.put("n", "1")
		c.refuseSecond(func(tx kv.Transaction) {
			c.get(tx, "n")
			tx.Clear([]byte("n"))
		})
	}},
	{"lost update: of a value that comes back", func(c *conformance) {
		c.put("n", "1")
		tx := c.begin()
		tx.Set([]byte("n"), []byte(c.get(tx, "n")+"+1"))
		c.put("n", "2")
		c.put("n", "1")
		c.wantCommit(tx, kv.CodeNotCommitted)
	}},
}

// refuseSecond lets two transactions do the same, which only the first may.
func (c *conformance) refuseSecond(do func(kv.Transaction)) {
	c.Helper()
	one, two := c.beginReading(), c.beginReading()
	do(one)
	do(two)
	c.wantCommit(one, 0)
	c.wantCommit(two, kv.CodeNotCommitted)
}

// skewLaws are about two keys that belong together.
var skewLaws = []law{
	{"read skew: between two reads", func(c *conformance) {
		c.put("x", "0", "y", "0")
		tx := c.begin()
		c.want("x", c.get(tx, "x"), "0")
		c.put("x", "1", "y", "1")
		c.want("y", c.get(tx, "y"), "0")
		c.want("both", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), []string{"x=0", "y=0"})
		c.want("y through Snapshot", c.get(tx.Snapshot(), "y"), "0")
	}},
	{"read skew: between a range and a selector", func(c *conformance) {
		c.put("x", "0", "y", "0")
		tx := c.begin()
		c.want("both", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), []string{"x=0", "y=0"})
		c.update(func(tx kv.Transaction) { tx.Clear([]byte("y")); tx.Set([]byte("w"), nil) })
		first, err := tx.GetKey(kv.FirstGreaterOrEqual([]byte("a"))).Get(c.ctx)
		c.wantCode("GetKey", err, 0)
		c.want("the first key", string(first), "x")
		c.want("y", c.get(tx, "y"), "0")
	}},
	{"read skew: that a writer would act on", func(c *conformance) {
		c.put("x", "0", "y", "0")
		tx := c.begin()
		x := c.get(tx, "x")
		c.put("x", "1", "y", "1")
		tx.Set([]byte("sum"), []byte(x+c.get(tx, "y")))
		c.wantCommit(tx, kv.CodeNotCommitted)
	}},
	{"write skew: of two who rely on each other", func(c *conformance) {
		c.put("a", "on duty", "b", "on duty")
		c.leaveDuty(func(tx kv.Transaction) {
			c.get(tx, "a")
			c.get(tx, "b")
		}, kv.CodeNotCommitted)
	}},
	{"write skew: of two who read a range", func(c *conformance) {
		c.put("a", "on duty", "b", "on duty")
		c.leaveDuty(func(tx kv.Transaction) {
			c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{})
		}, kv.CodeNotCommitted)
	}},
	{"write skew: of three in a circle", func(c *conformance) {
		keys := []string{"a", "b", "c"}
		txs := []kv.Transaction{c.beginReading(), c.beginReading(), c.beginReading()}
		for i, tx := range txs {
			c.get(tx, keys[i])
			tx.Set([]byte(keys[(i+1)%3]), []byte("x"))
		}
		failed := 0
		for _, tx := range txs {
			if kv.IsConflict(tx.Commit(c.ctx)) {
				failed++
			}
		}
		if failed == 0 {
			c.Error("all three transactions of a circle committed")
		}
	}},
	{"write skew: is what snapshot reads ask for", func(c *conformance) {
		c.put("a", "on duty", "b", "on duty")
		c.leaveDuty(func(tx kv.Transaction) {
			c.get(tx.Snapshot(), "a")
			c.get(tx.Snapshot(), "b")
		}, 0)
	}},
	{"write skew: of a reader between two writers", func(c *conformance) {
		// The reader sees the second writer's commit and not the first one's, so the
		// first writer must not come before the second.
		c.put("x", "0", "y", "0")
		first := c.beginReading()
		c.get(first, "x")
		c.get(first, "y")
		c.put("y", "1")
		c.want("what the reader sees", c.contents(), []string{"x=0", "y=1"})
		first.Set([]byte("x"), []byte("1"))
		c.wantCommit(first, kv.CodeNotCommitted)
	}},
}

// leaveDuty has two transactions read both duties; then one clears a and the other b.
func (c *conformance) leaveDuty(look func(kv.Transaction), second kv.Code) {
	c.Helper()
	one, two := c.beginReading(), c.beginReading()
	look(one)
	look(two)
	one.Clear([]byte("a"))
	two.Clear([]byte("b"))
	c.wantCommit(one, 0)
	c.wantCommit(two, second)
}
