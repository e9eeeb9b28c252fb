// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// stamped returns prefix, a place for a versionstamp and its offset: the
// operand of a versionstamped write.
func stamped(prefix string) []byte {
	b := append([]byte(prefix), make([]byte, kv.VersionstampSize)...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(prefix)))
}

// commitStamped commits and returns the transaction's versionstamp.
func (c *conformance) commitStamped(tx kv.Transaction) []byte {
	c.Helper()
	future := tx.GetVersionstamp()
	c.commit(tx)
	stamp, err := future.Get(c.ctx)
	c.wantCode("GetVersionstamp", err, 0)
	if len(stamp) != kv.VersionstampSize {
		c.Fatalf("a versionstamp of %d bytes", len(stamp))
	}
	return stamp
}

var versionstampLaws = []law{
	{"a versionstamped key carries the stamp", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), []byte("entry"))
		stamp := c.commitStamped(tx)
		c.want("the value", c.get(c.begin(), "log/"+string(stamp)), "entry")
		c.want("keys", len(c.contents()), 1)
	}},
	{"a versionstamped value carries the stamp", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, []byte("k"), stamped("at "))
		stamp := c.commitStamped(tx)
		c.want("the value", c.get(c.begin(), "k"), "at "+string(stamp))
	}},
	{"a stamp begins with the committed version", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("k"), nil)
		stamp := c.commitStamped(tx)
		version, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		c.want("the stamp's version", int64(binary.BigEndian.Uint64(stamp)), version)
	}},
	{"stamps grow in commit order", func(c *conformance) {
		var stamps [][]byte
		for range 20 {
			tx := c.begin()
			tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
			stamps = append(stamps, c.commitStamped(tx))
		}
		if !slices.IsSortedFunc(stamps, bytes.Compare) || len(slices.CompactFunc(stamps, bytes.Equal)) != 20 {
			c.Errorf("stamps of commits one after another: %x", stamps)
		}
	}},
	{"a read-only transaction has no stamp", func(c *conformance) {
		tx := c.begin()
		c.get(tx, "a")
		future := tx.GetVersionstamp()
		c.commit(tx)
		wantFuture(c, "GetVersionstamp", future, kv.CodeNoCommitVersion)
	}},
	{"a failed commit has no stamp", func(c *conformance) {
		tx := c.begin()
		c.get(tx, "a")
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
		future := tx.GetVersionstamp()
		c.put("a", "2")
		c.wantCommit(tx, kv.CodeNotCommitted)
		wantFuture(c, "GetVersionstamp", future, kv.CodeTransactionInvalidVersion)
		c.wantContents("a=2")
	}},
	{"a stamp is not ready before the commit", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("k"), nil)
		future := tx.GetVersionstamp()
		if future.Ready() {
			_, err := future.Get(c.ctx)
			c.Errorf("ready before the commit: %v", err)
		}
		c.commit(tx)
		wantFuture(c, "GetVersionstamp", future, 0)
	}},
	{"what awaits its stamp cannot be read", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, []byte("k"), stamped(""))
		wantFuture(c, "Get", tx.Get([]byte("k")), kv.CodeAccessedUnreadable)
		c.wantCommit(tx, kv.CodeAccessedUnreadable)
		tx = c.begin()
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
		_, err := tx.GetRange(model.Span("log/", "log0").Selectors(), kv.RangeOptions{}).Slice(c.ctx)
		c.wantCode("GetRange", err, kv.CodeAccessedUnreadable)
		c.wantContents()
	}},
	{"an operand without room for a stamp is refused", func(c *conformance) {
		for _, operand := range [][]byte{nil, make([]byte, 3), make([]byte, 13), append(make([]byte, 10), 1, 0, 0, 0)} {
			tx := c.begin()
			tx.Atomic(kv.SetVersionstampedValue, []byte("k"), operand)
			c.wantCommit(tx, kv.CodeClientInvalidOperation)
		}
		c.wantContents()
	}},
	{"the metadata version is a stamp that everyone can read", func(c *conformance) {
		key := []byte(kv.MetadataVersionKey)
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
		stamp := c.commitStamped(tx)
		reader := c.begin()
		c.want("the version", c.get(reader, kv.MetadataVersionKey), string(stamp))
		later := c.begin()
		later.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
		next := c.commitStamped(later)
		c.want("the version as the reader sees it", c.get(reader, kv.MetadataVersionKey), string(stamp))
		c.want("the version anew", c.get(c.begin(), kv.MetadataVersionKey), string(next))
	}},
	{"a change of the metadata version conflicts with its readers", func(c *conformance) {
		key := []byte(kv.MetadataVersionKey)
		tx := c.beginReading()
		c.get(tx, kv.MetadataVersionKey)
		tx.Set([]byte("a"), []byte("1"))
		c.update(func(tx kv.Transaction) { tx.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14)) })
		c.wantCommit(tx, kv.CodeNotCommitted)
	}},
	{"other system keys are out of reach", func(c *conformance) {
		wantFuture(c, "Get", c.begin().Get([]byte("\xff/other")), kv.CodeKeyOutsideLegalRange)
		tx := c.begin()
		tx.Set([]byte("\xff/other"), nil)
		c.wantCommit(tx, kv.CodeKeyOutsideLegalRange)
	}},
}
