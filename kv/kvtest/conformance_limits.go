// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

func long(n int) []byte { return bytes.Repeat([]byte("x"), n) }

var limitLaws = []law{
	{"keys up to the limit are written, longer ones refused", func(c *conformance) {
		for _, tt := range []struct {
			write func(kv.Transaction)
			want  kv.Code
		}{
			{func(tx kv.Transaction) { tx.Set(long(kv.MaxKeySize), nil) }, 0},
			{func(tx kv.Transaction) { tx.Set(long(kv.MaxKeySize+1), nil) }, kv.CodeKeyTooLarge},
			{func(tx kv.Transaction) { tx.Atomic(kv.Add, long(kv.MaxKeySize+1), []byte{1}) }, kv.CodeKeyTooLarge},
			{func(tx kv.Transaction) { tx.Clear(long(kv.MaxKeySize)) }, 0},
		} {
			tx := c.begin()
			tt.write(tx)
			c.wantCommit(tx, tt.want)
		}
	}},
	{"values up to the limit are written, longer ones refused", func(c *conformance) {
		for n, want := range map[int]kv.Code{kv.MaxValueSize: 0, kv.MaxValueSize + 1: kv.CodeValueTooLarge} {
			tx := c.begin()
			tx.Set([]byte("k"), long(n))
			c.wantCommit(tx, want)
		}
		c.want("the value's size", len(c.get(c.begin(), "k")), kv.MaxValueSize)
	}},
	{"a transaction over the limit is refused whole", func(c *conformance) {
		tx := c.begin()
		for i := range 101 {
			tx.Set(fmt.Appendf(nil, "k%03d", i), long(kv.MaxValueSize))
		}
		c.wantCommit(tx, kv.CodeTransactionTooLarge)
		c.wantContents()
	}},
	{"conflict ranges count against the limit", func(c *conformance) {
		tx := c.begin()
		for i := range 501 {
			key := append(long(9990), fmt.Sprintf("%05d", i)...)
			c.wantCode("AddReadConflictKey", tx.AddReadConflictKey(key), 0)
		}
		tx.Set([]byte("k"), nil)
		c.wantCommit(tx, kv.CodeTransactionTooLarge)
	}},
	{"a lower limit can be asked for", func(c *conformance) {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSizeLimit, 200), 0)
		tx.Set([]byte("k"), long(300))
		c.wantCommit(tx, kv.CodeTransactionTooLarge)
	}},
	{"the approximate size grows with the writes", func(c *conformance) {
		tx := c.begin()
		last := int64(-1)
		for i := range 4 {
			size, err := tx.GetApproximateSize().Get(c.ctx)
			c.wantCode("GetApproximateSize", err, 0)
			if size <= last || size < int64(100*i) {
				c.Errorf("size %d after %d values of 100 bytes, %d before", size, i, last)
			}
			last = size
			tx.Set(fmt.Appendf(nil, "k%d", i), long(100))
		}
	}},
	{"inverted ranges are refused", func(c *conformance) {
		inverted := model.Span("b", "a")
		tx := c.begin()
		c.wantCode("AddReadConflictRange", tx.AddReadConflictRange(inverted), kv.CodeInvertedRange)
		tx = c.begin()
		c.wantCode("AddWriteConflictRange", tx.AddWriteConflictRange(inverted), kv.CodeInvertedRange)
		tx = c.begin()
		tx.ClearRange(inverted)
		c.wantCommit(tx, kv.CodeInvertedRange)
	}},
	{"keys beyond the user's are refused", func(c *conformance) {
		for name, write := range map[string]func(kv.Transaction){
			"Set":        func(tx kv.Transaction) { tx.Set([]byte("\xff"), nil) },
			"Clear":      func(tx kv.Transaction) { tx.Clear([]byte("\xffa")) },
			"ClearRange": func(tx kv.Transaction) { tx.ClearRange(model.Span("a", "\xff\x01")) },
			"Atomic":     func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("\xffa"), []byte{1}) },
		} {
			tx := c.begin()
			write(tx)
			c.wantCode(name, tx.Commit(c.ctx), kv.CodeKeyOutsideLegalRange)
		}
		wantFuture(c, "Get", c.begin().Get([]byte("\xffa")), kv.CodeKeyOutsideLegalRange)
		c.update(func(tx kv.Transaction) { tx.ClearRange(model.Span("a", "\xff")) })
	}},
	{"a read version too old or from the future is refused", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		tx.SetReadVersion(1)
		wantFuture(c, "Get at version 1", tx.Get([]byte("a")), kv.CodeTransactionTooOld)
		now := c.version(c.begin())
		tx = c.begin()
		tx.SetReadVersion(now + 1_000_000_000)
		wantFuture(c, "Get in the future", tx.Get([]byte("a")), kv.CodeFutureVersion)
		tx = c.begin()
		tx.SetReadVersion(-1)
		wantFuture(c, "Get at version -1", tx.Get([]byte("a")), kv.CodeVersionInvalid)
	}},
}
