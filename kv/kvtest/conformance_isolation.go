// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

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
