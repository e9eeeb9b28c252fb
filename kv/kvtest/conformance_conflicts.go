// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
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
