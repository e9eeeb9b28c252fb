// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// Anomaly is something that transactions which ran one after another could not
// bring about.
type Anomaly string

// The anomalies that have a name, as Berenson and others and Adya define them.
const (
	// DirtyWrite mixes the writes of two transactions (P0, G0).
	DirtyWrite Anomaly = "dirty write"
	// DirtyRead sees writes of a transaction that has not committed, has failed,
	// or goes on to write something else (P1, G1a, G1b).
	DirtyRead Anomaly = "dirty read"
	// LostUpdate writes over what another has written since it was read (P4).
	LostUpdate Anomaly = "lost update"
	// ReadSkew sees one part of a commit without another (A5A, G-single).
	ReadSkew Anomaly = "read skew"
	// WriteSkew lets two transactions each change what the other's decision
	// rested on (A5B, G2-item).
	WriteSkew Anomaly = "write skew"
	// Phantom misses that a key appears in a range that was read, or vanishes
	// from it (P3, G2).
	Phantom Anomaly = "phantom"
)

// Anomalies are all of them.
var Anomalies = []Anomaly{DirtyWrite, DirtyRead, LostUpdate, ReadSkew, WriteSkew, Phantom}

// CheckAnomaly checks that an engine does not let an anomaly happen: each way
// to it step by step, and by many goroutines at once. [RunConformance] checks all
// anomalies; this is for an engine's tests that bear their names. open is as
// for RunConformance.
func CheckAnomaly(t *testing.T, open func(testing.TB) kv.Database, a Anomaly) {
	t.Helper()
	db, found := open(t), false
	for _, l := range anomalyLaws {
		way, ok := strings.CutPrefix(l.name, string(a)+": ")
		if !ok {
			continue
		}
		found = true
		t.Run(way, func(t *testing.T) { checkLaw(t, l, db, open, lawTimeout) })
	}
	if !found {
		t.Fatalf("kvtest: there is no anomaly %q; see Anomalies", a)
	}
}

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
		refuseSecond(c, func(tx kv.Transaction) {
			tx.Set([]byte("n"), []byte(c.get(tx, "n")+"+1"))
		})
		c.wantContents("n=1+1")
	}},
	{"lost update: of a key that was absent", func(c *conformance) {
		refuseSecond(c, func(tx kv.Transaction) {
			if c.get(tx, "n") == model.Absent {
				tx.Set([]byte("n"), []byte("mine"))
			}
		})
	}},
	{"lost update: by a clear", func(c *conformance) {
		c.put("n", "1")
		refuseSecond(c, func(tx kv.Transaction) {
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
func refuseSecond(c *conformance, do func(kv.Transaction)) {
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
		leaveDuty(c, func(tx kv.Transaction) {
			c.get(tx, "a")
			c.get(tx, "b")
		}, kv.CodeNotCommitted)
	}},
	{"write skew: of two who read a range", func(c *conformance) {
		c.put("a", "on duty", "b", "on duty")
		leaveDuty(c, func(tx kv.Transaction) {
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
		leaveDuty(c, func(tx kv.Transaction) {
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
func leaveDuty(c *conformance, look func(kv.Transaction), second kv.Code) {
	c.Helper()
	one, two := c.beginReading(), c.beginReading()
	look(one)
	look(two)
	one.Clear([]byte("a"))
	two.Clear([]byte("b"))
	c.wantCommit(one, 0)
	c.wantCommit(two, second)
}

// phantomLaws hold over the keys c, e, g: what one transaction reads, another
// changes before it commits.
var phantomLaws = []law{
	phantom("in a range", readRange("b", "h", kv.RangeOptions{}), setKey("f")),
	phantom("in an empty range", readRange("x", "z", kv.RangeOptions{}), setKey("y")),
	phantom("in a range of which a part was seen", readRange("b", "h", kv.RangeOptions{Limit: 2}), setKey("d")),
	phantom("in a range that is read backward", readRange("b", "h", kv.RangeOptions{Reverse: true}), setKey("b")),
	phantom("in a range of which a part was seen backward", readRange("b", "h", kv.RangeOptions{Limit: 2, Reverse: true}), setKey("f")),
	phantom("behind the last key of a range", readRange("b", "h", kv.RangeOptions{Limit: 4}), setKey("gg")),
	phantom("that an addition makes", readRange("x", "z", kv.RangeOptions{}), func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("y"), []byte{1}) }),
	phantom("that vanishes", readRange("b", "h", kv.RangeOptions{}), func(tx kv.Transaction) { tx.Clear([]byte("e")) }),
	phantom("that vanishes with its range", readRange("b", "h", kv.RangeOptions{}), func(tx kv.Transaction) { tx.ClearRange(model.Span("d", "z")) }),
	phantom("that vanishes by comparison", readRange("b", "h", kv.RangeOptions{}), func(tx kv.Transaction) { tx.Atomic(kv.CompareAndClear, []byte("e"), []byte("E")) }),
	phantom("before the key of a selector", readSelector(kv.FirstGreaterThan([]byte("c"))), setKey("d")),
	phantom("behind the key of a selector that goes back", readSelector(kv.LastLessThan([]byte("e"))), setKey("d")),
	phantom("within the way of a selector", readSelector(kv.FirstGreaterOrEqual([]byte("c")).Add(2)), setKey("f")),
	phantom("at the end of all keys", readSelector(kv.FirstGreaterThan([]byte("g"))), setKey("z")),
	phantom("of a range whose ends are selectors", func(c *conformance, tx kv.Transaction) {
		c.scan(tx, kv.SelectorRange{Begin: kv.FirstGreaterThan([]byte("c")), End: kv.LastLessOrEqual([]byte("z"))}, kv.RangeOptions{})
	}, setKey("d")),
	{"phantom: for a reader who looks again", func(c *conformance) {
		c.put("c", "C", "e", "E")
		tx := c.begin()
		want := c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{})
		c.update(func(tx kv.Transaction) { tx.Set([]byte("d"), nil); tx.Clear([]byte("e")) })
		c.want("the range again", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.want("the range backward", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{Reverse: true}), []string{"e=E", "c=C"})
	}},
	{"phantom: two who each fill what they saw empty", func(c *conformance) {
		one, two := c.beginReading(), c.beginReading()
		for i, tx := range []kv.Transaction{one, two} {
			c.want("the range", len(c.scan(tx, model.Span("m", "n").Selectors(), kv.RangeOptions{})), 0)
			tx.Set([]byte{'m', byte('0' + i)}, nil)
		}
		c.wantCommit(one, 0)
		c.wantCommit(two, kv.CodeNotCommitted)
		c.wantContents("m0=")
	}},
}

// phantom is the law that a transaction which read what then changes is refused.
func phantom(name string, read func(*conformance, kv.Transaction), change func(kv.Transaction)) law {
	return law{"phantom: " + name, conflictCase{"", read, change, kv.CodeNotCommitted}.check}
}
