// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

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
