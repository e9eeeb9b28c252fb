// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// conflictCase is a reading transaction, a writing one that commits first, and
// what becomes of the reader.
type conflictCase struct {
	name  string
	read  func(c *conformance, tx kv.Transaction)
	write func(tx kv.Transaction)
	want  kv.Code
}

// conflictLaws hold over the keys c, e, g.
var conflictLaws = conflictCases(
	conflictCase{"a read of a key that is changed", readKey("e"), setKey("e"), kv.CodeNotCommitted},
	conflictCase{"a read of a key that is set to what it was", readKey("e"), func(tx kv.Transaction) { tx.Set([]byte("e"), []byte("E")) }, kv.CodeNotCommitted},
	conflictCase{"a read of a key that is cleared", readKey("e"), func(tx kv.Transaction) { tx.Clear([]byte("e")) }, kv.CodeNotCommitted},
	conflictCase{"a read of an absent key that appears", readKey("d"), setKey("d"), kv.CodeNotCommitted},
	conflictCase{"a read of a key that is cleared with its range", readKey("e"), func(tx kv.Transaction) { tx.ClearRange(model.Span("d", "f")) }, kv.CodeNotCommitted},
	conflictCase{"a read of a key that is counted up", readKey("e"), func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("e"), []byte{1}) }, kv.CodeNotCommitted},
	conflictCase{"a read of a neighbour", readKey("e"), setKey("e\x00"), 0},
	conflictCase{"a snapshot read", func(c *conformance, tx kv.Transaction) { c.get(tx.Snapshot(), "e") }, setKey("e"), 0},
	conflictCase{"a snapshot range read", func(c *conformance, tx kv.Transaction) {
		c.scan(tx.Snapshot(), model.UserKeys().Selectors(), kv.RangeOptions{})
	}, setKey("e"), 0},
	conflictCase{"the end of a range", readRange("b", "e", kv.RangeOptions{}), setKey("e"), 0},
	conflictCase{"the begin of a range", readRange("e", "h", kv.RangeOptions{}), setKey("e"), kv.CodeNotCommitted},
	conflictCase{"behind what a limited range read saw", readRange("b", "h", kv.RangeOptions{Limit: 2}), setKey("f"), 0},
	conflictCase{"within what a limited range read saw", readRange("b", "h", kv.RangeOptions{Limit: 2}), setKey("d"), kv.CodeNotCommitted},
	conflictCase{"before what a limited reverse range read saw", readRange("b", "h", kv.RangeOptions{Limit: 2, Reverse: true}), setKey("d"), 0},
	conflictCase{"within what a limited reverse range read saw", readRange("b", "h", kv.RangeOptions{Limit: 2, Reverse: true}), setKey("f"), kv.CodeNotCommitted},
	conflictCase{"a key that comes before the one a selector found", readSelector(kv.FirstGreaterThan([]byte("c"))), setKey("d"), kv.CodeNotCommitted},
	conflictCase{"a key that a selector found and that vanishes", readSelector(kv.FirstGreaterThan([]byte("c"))), func(tx kv.Transaction) { tx.Clear([]byte("e")) }, kv.CodeNotCommitted},
	conflictCase{"a key beyond the one that a selector found", readSelector(kv.FirstGreaterThan([]byte("c"))), setKey("f"), 0},
	conflictCase{"a blind write", func(_ *conformance, tx kv.Transaction) { tx.Set([]byte("e"), []byte("mine")) }, setKey("e"), 0},
	conflictCase{"two additions", func(_ *conformance, tx kv.Transaction) { tx.Atomic(kv.Add, []byte("n"), []byte{1}) }, func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("n"), []byte{2}) }, 0},
	conflictCase{"a read that own writes answer", func(c *conformance, tx kv.Transaction) {
		tx.Set([]byte("e"), []byte("mine"))
		c.get(tx, "e")
	}, setKey("e"), 0},
	conflictCase{"a read over an own addition", func(c *conformance, tx kv.Transaction) {
		tx.Atomic(kv.Add, []byte("e"), []byte{1})
		c.get(tx, "e")
	}, setKey("e"), kv.CodeNotCommitted},
	conflictCase{"an added read conflict key", func(c *conformance, tx kv.Transaction) {
		c.wantCode("AddReadConflictKey", tx.AddReadConflictKey([]byte("e")), 0)
	}, setKey("e"), kv.CodeNotCommitted},
	conflictCase{"an added read conflict range", func(c *conformance, tx kv.Transaction) {
		c.wantCode("AddReadConflictRange", tx.AddReadConflictRange(model.Span("d", "f")), 0)
	}, setKey("d"), kv.CodeNotCommitted},
	conflictCase{"an added write conflict key", readKey("e"), func(tx kv.Transaction) { _ = tx.AddWriteConflictKey([]byte("e")) }, kv.CodeNotCommitted},
	conflictCase{"an added write conflict range", readKey("e"), func(tx kv.Transaction) { _ = tx.AddWriteConflictRange(model.Span("d", "f")) }, kv.CodeNotCommitted},
	conflictCase{"a write that asked for no conflict", readKey("e"), func(tx kv.Transaction) {
		_ = tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0)
		tx.Set([]byte("e"), []byte("quiet"))
	}, 0},
)

func readKey(key string) func(*conformance, kv.Transaction) {
	return func(c *conformance, tx kv.Transaction) { c.get(tx, key) }
}

func readRange(from, to string, o kv.RangeOptions) func(*conformance, kv.Transaction) {
	return func(c *conformance, tx kv.Transaction) { c.scan(tx, model.Span(from, to).Selectors(), o) }
}

func readSelector(sel kv.KeySelector) func(*conformance, kv.Transaction) {
	return func(c *conformance, tx kv.Transaction) { wantFuture(c, "GetKey", tx.GetKey(sel), 0) }
}

func setKey(key string) func(kv.Transaction) {
	return func(tx kv.Transaction) { tx.Set([]byte(key), []byte("theirs")) }
}

func conflictCases(cases ...conflictCase) []law {
	var laws []law
	for _, cc := range cases {
		verdict := "does not conflict"
		if cc.want != 0 {
			verdict = "conflicts"
		}
		laws = append(laws, law{fmt.Sprintf("%s %s", cc.name, verdict), cc.check})
	}
	return append(laws, law{"a read-only transaction never conflicts", readOnlyNeverConflicts},
		law{"what was written before the read version does not conflict", pastDoesNotConflict})
}

func (cc conflictCase) check(c *conformance) {
	c.put("c", "C", "e", "E", "g", "G")
	reader := c.beginReading()
	cc.read(c, reader)
	reader.Set([]byte("own"), []byte("write"))
	c.update(cc.write)
	c.wantCommit(reader, cc.want)
}

func readOnlyNeverConflicts(c *conformance) {
	c.put("a", "1")
	tx := c.begin()
	c.get(tx, "a")
	c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{})
	c.put("a", "2", "b", "2")
	c.wantCommit(tx, 0)
	version, err := tx.GetCommittedVersion()
	c.wantCode("GetCommittedVersion", err, 0)
	c.want("the committed version of a read-only transaction", version, int64(-1))
}

func pastDoesNotConflict(c *conformance) {
	c.put("a", "1")
	c.put("a", "2")
	tx := c.begin()
	c.want("a", c.get(tx, "a"), "2")
	tx.Set([]byte("a"), []byte("3"))
	c.wantCommit(tx, 0)
}

var isolationLaws = []law{
	{"a transaction reads one version", func(c *conformance) {
		c.put("a", "1", "b", "1")
		tx := c.begin()
		c.want("a", c.get(tx, "a"), "1")
		c.put("a", "2", "b", "2", "c", "2")
		c.want("b after a later commit", c.get(tx, "b"), "1")
		c.want("c after a later commit", c.get(tx, "c"), model.Absent)
		c.want("a range after a later commit", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), []string{"a=1", "b=1"})
		c.want("a through Snapshot", c.get(tx.Snapshot(), "a"), "1")
	}},
	{"the read version is fixed by the first read", func(c *conformance) {
		tx := c.begin()
		c.put("a", "1")
		c.want("a", c.get(tx, "a"), "1")
		c.put("a", "2")
		c.want("a again", c.get(tx, "a"), "1")
	}},
	{"a commit is seen by every transaction that begins after it", func(c *conformance) {
		for _, value := range []string{"1", "2", "3", "4", "5"} {
			tx := c.begin()
			tx.Set([]byte("a"), []byte(value))
			c.commit(tx)
			committed, err := tx.GetCommittedVersion()
			c.wantCode("GetCommittedVersion", err, 0)
			after := c.begin()
			if read := c.version(after); read < committed {
				c.Errorf("read version %d after a commit at %d", read, committed)
			}
			c.want("a", c.get(after, "a"), value)
		}
	}},
	{"uncommitted writes are seen by nobody else", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		c.wantContents()
		tx.Cancel()
		c.wantContents()
	}},
	{"a commit is whole", func(c *conformance) {
		c.put("gone", "x", "kept", "x")
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		tx.Clear([]byte("gone"))
		tx.Atomic(kv.Add, []byte("n"), []byte{1})
		c.commit(tx)
		c.wantContents("a=1", "kept=x", "n=\x01")
	}},
	{"a commit that fails leaves nothing", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.get(tx, "a")
		tx.Set([]byte("b"), []byte("1"))
		tx.ClearRange(model.UserKeys())
		c.put("a", "2")
		c.wantCommit(tx, kv.CodeNotCommitted)
		c.wantContents("a=2")
	}},
	{"versions grow with commits", func(c *conformance) {
		last := int64(-1)
		for range 5 {
			tx := c.begin()
			read := c.version(tx)
			tx.Set([]byte("a"), nil)
			c.commit(tx)
			committed, _ := tx.GetCommittedVersion()
			if read < last || committed <= read {
				c.Errorf("read %d and committed at %d after a commit at %d", read, committed, last)
			}
			last = committed
		}
	}},
	{"an old read version reads the past", func(c *conformance) {
		c.put("a", "1")
		past := c.version(c.begin())
		c.put("a", "2")
		tx := c.begin()
		tx.SetReadVersion(past)
		c.want("a in the past", c.get(tx, "a"), "1")
		tx.Set([]byte("b"), nil)
		c.wantCommit(tx, kv.CodeNotCommitted)
	}},
	{"reads of a read-only transaction are one state though writers go on", func(c *conformance) {
		c.put("x", "0", "y", "0")
		reader := c.begin()
		x := c.get(reader, "x")
		for _, n := range []string{"1", "2", "3"} {
			c.put("x", n, "y", n)
		}
		c.want("y", c.get(reader, "y"), x)
		c.wantCommit(reader, 0)
	}},
}

// reportLaws say what a commit tells of its conflict.
var reportLaws = []law{
	{"a conflict tells the reads that others wrote to", func(c *conformance) {
		tx := beginLosing(c, true)
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", scenario.ShowRanges(kv.ConflictsOf(err), nil), scenario.ShowRanges(lostReads, nil))
		c.want("ConflictingKeys", conflictsTold(c, tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"a conflict tells nothing unless the transaction asks", func(c *conformance) {
		tx := beginLosing(c, false)
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", kv.ConflictsOf(err), []kv.KeyRange(nil))
		c.want("ConflictingKeys", conflictsTold(c, tx), scenario.ShowRanges(nil, nil))
	}},
	{"conflicting keys stay until the next report", func(c *conformance) {
		tx := beginLosing(c, true)
		err := tx.Commit(c.ctx)
		c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
		c.want("ConflictingKeys after OnError", conflictsTold(c, tx), scenario.ShowRanges(lostReads, nil))
		c.commit(tx)
		c.want("ConflictingKeys after a commit", conflictsTold(c, tx), scenario.ShowRanges(lostReads, nil))
		tx.Reset()
		c.want("ConflictingKeys after Reset", conflictsTold(c, tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"OnError forgets that conflicting keys were asked for", func(c *conformance) {
		tx := beginLosing(c, true)
		c.wantCode("OnError", tx.OnError(c.ctx, tx.Commit(c.ctx)), 0)
		c.get(tx, "a")
		tx.Set([]byte("own"), nil)
		c.put("a", "other")
		err := tx.Commit(c.ctx)
		c.wantCode("Commit", err, kv.CodeNotCommitted)
		c.want("Error.Conflicts", kv.ConflictsOf(err), []kv.KeyRange(nil))
		c.want("ConflictingKeys", conflictsTold(c, tx), scenario.ShowRanges(lostReads, nil))
	}},
	{"conflict ranges that touch are told as one", func(c *conformance) {
		tx := beginAsking(c)
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

// beginLosing returns a transaction with a commit that conflicts: others wrote to two of
// the four places that it has read, once with a range. It reports the conflict
// if it is to.
func beginLosing(c *conformance, reports bool) kv.Transaction {
	c.Helper()
	c.put("a", "A", "e", "E", "k", "K", "m", "M")
	tx := c.begin()
	if reports {
		tx = beginAsking(c)
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

// beginAsking returns a transaction that asks for conflicting keys.
func beginAsking(c *conformance) kv.Transaction {
	c.Helper()
	tx := c.begin()
	c.wantCode("SetOption", tx.SetOption(kv.OptionReportConflictingKeys, 0), 0)
	return tx
}

// conflictsTold returns the conflicting keys of a transaction.
func conflictsTold(c *conformance, tx kv.Transaction) string {
	c.Helper()
	ranges, err := tx.ConflictingKeys(c.ctx)
	c.wantCode("ConflictingKeys", err, 0)
	return fmt.Sprint(scenario.ShowRanges(ranges, nil))
}
