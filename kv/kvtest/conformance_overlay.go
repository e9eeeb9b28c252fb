// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/play"
)

var overlayLaws = []law{
	{"a transaction reads its own writes", func(c *conformance) {
		c.put("a", "1", "b", "1", "c", "1", "d", "1")
		tx := c.begin()
		tx.Set([]byte("a"), []byte("2"))
		tx.Clear([]byte("b"))
		tx.ClearRange(model.Span("c", "d"))
		tx.Set([]byte("e"), []byte("2"))
		for key, want := range map[string]string{"a": "2", "b": model.Absent, "c": model.Absent, "d": "1", "e": "2"} {
			c.want(key, c.get(tx, key), want)
			c.want(key+" in a snapshot", c.get(tx.Snapshot(), key), want)
		}
		want := []string{"a=2", "d=1", "e=2"}
		c.want("all", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.want("all in a snapshot", c.scan(tx.Snapshot(), model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.want("the last two", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{Limit: 2, Reverse: true}), []string{"e=2", "d=1"})
	}},
	{"the last write of a key wins", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		tx.ClearRange(model.UserKeys())
		tx.Set([]byte("b"), []byte("1"))
		tx.Set([]byte("b"), []byte("2"))
		tx.Set([]byte("c"), []byte("1"))
		tx.Clear([]byte("c"))
		c.commit(tx)
		c.wantContents("b=2")
	}},
	{"a read started before a write does not see it", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		future := tx.Get([]byte("a"))
		tx.Set([]byte("a"), []byte("2"))
		value, err := future.Get(c.ctx)
		c.wantCode("Get", err, 0)
		c.want("the earlier read", string(value), "1")
		c.want("a later read", c.get(tx, "a"), "2")
	}},
	{"an empty value is not an absent one", func(c *conformance) {
		c.update(func(tx kv.Transaction) {
			tx.Set([]byte("nil"), nil)
			tx.Set([]byte("empty"), []byte{})
		})
		tx := c.begin()
		tx.Set([]byte("own"), nil)
		for key, want := range map[string]string{"nil": "", "empty": "", "own": "", "none": model.Absent} {
			c.want(key, c.get(tx, key), want)
		}
	}},
	{"the empty key is a key", func(c *conformance) {
		c.put("", "root")
		c.want("the value", c.get(c.begin(), ""), "root")
		c.wantContents("=root")
	}},
	{"arguments are copied", func(c *conformance) {
		key, value, end := []byte("a"), []byte("1"), []byte("c")
		tx := c.begin()
		tx.Set(key, value)
		tx.Atomic(kv.ByteMax, []byte("b"), value)
		get := tx.Get(key)
		pairs := tx.GetRange(kv.KeyRange{Begin: key, End: end}.Selectors(), kv.RangeOptions{})
		play.Spoil(key, value, end)
		got, err := get.Get(c.ctx)
		c.wantCode("Get", err, 0)
		c.want("the value", string(got), "1")
		all, err := pairs.Slice(c.ctx)
		c.wantCode("GetRange", err, 0)
		c.want("the range", model.Texts(all), []string{"a=1", "b=1"})
		c.commit(tx)
		c.wantContents("a=1", "b=1")
	}},
	{"snapshot reads can be told not to see own writes", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSnapshotRYWDisable, 0), 0)
		tx.Set([]byte("a"), []byte("2"))
		c.want("a in the snapshot", c.get(tx.Snapshot(), "a"), "1")
		c.want("a", c.get(tx, "a"), "2")
		c.wantCode("SetOption", tx.SetOption(kv.OptionSnapshotRYWEnable, 0), 0)
		c.want("a in the snapshot again", c.get(tx.Snapshot(), "a"), "2")
	}},
	{"read-your-writes can be disabled", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionReadYourWritesDisable, 0), 0)
		tx.Set([]byte("a"), []byte("2"))
		c.want("a", c.get(tx, "a"), "1")
		c.commit(tx)
		c.wantContents("a=2")
	}},
	{"reads over own writes agree with a model", checkOverlayModel},
}
