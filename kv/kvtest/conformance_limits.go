// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
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

// sizeLaws say what is known of the sizes of ranges. They leave room for what an
// engine samples: 800 pairs of 10,000 bytes are some 8 MB, of which half and
// twice would be far off.
var sizeLaws = []law{
	{"a range's size is estimated", func(c *conformance) {
		fillSizes(c)
		wantSize(c, "everything", model.UserKeys(), sizedPairs*sizedBytes)
		wantSize(c, "a half", kv.KeyRange{Begin: sizedKey(0), End: sizedKey(sizedPairs / 2)}, sizedPairs/2*sizedBytes)
		c.want("an empty range", estimateSize(c, model.Span("x", "x")), int64(0))
		c.want("a range without pairs", estimateSize(c, model.Span("x", "y")), int64(0))
	}},
	{"an estimate follows what is cleared and overwritten", func(c *conformance) {
		fillSizes(c)
		fillSizes(c)
		wantSize(c, "overwritten", model.UserKeys(), sizedPairs*sizedBytes)
		c.update(func(tx kv.Transaction) {
			tx.ClearRange(kv.KeyRange{Begin: sizedKey(0), End: sizedKey(sizedPairs / 2)})
		})
		wantSize(c, "half of it cleared", model.UserKeys(), sizedPairs/2*sizedBytes)
		c.update(func(tx kv.Transaction) { tx.ClearRange(model.UserKeys()) })
		c.want("all of it cleared", estimateSize(c, model.UserKeys()), int64(0))
	}},
	{"split points divide a range into parts of about a size", func(c *conformance) {
		fillSizes(c)
		const chunk = 1_000_000
		points := splitPoints(c, model.UserKeys(), chunk)
		if n := len(points) - 1; n < 5 || n > 13 {
			c.Errorf("%d bytes are divided into %d parts of about %d", sizedPairs*sizedBytes, n, chunk)
		}
		wantDivision(c, points, model.UserKeys())
		for i := range points[1:] {
			if size := bytesBetween(c, points[i], points[i+1]); size > 2*chunk {
				c.Errorf("part %d has %d bytes, far more than %d", i, size, chunk)
			}
		}
	}},
	{"split points of what is small are its ends", func(c *conformance) {
		c.put("k", "v")
		for _, r := range []kv.KeyRange{model.Span("a", "b"), model.Span("a", "z"), model.UserKeys()} {
			wantDivision(c, splitPoints(c, r, 1_000_000), r)
			c.want(fmt.Sprintf("points of %q", r), len(splitPoints(c, r, 1_000_000)), 2)
		}
		c.want("points of nothing", splitPoints(c, model.Span("a", "a"), 1), [][]byte{[]byte("a")})
	}},
	{"sizes neither conflict nor fix the read version", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		wantFuture(c, "GetEstimatedRangeSizeBytes", tx.GetEstimatedRangeSizeBytes(model.UserKeys()), 0)
		wantFuture(c, "GetRangeSplitPoints", tx.GetRangeSplitPoints(model.UserKeys(), 1000), 0)
		c.put("a", "2")
		c.want("a", c.get(tx, "a"), "2")
		tx.Set([]byte("own"), nil)
		c.commit(tx)
	}},
	{"sizes of illegal ranges are refused", func(c *conformance) {
		tx := c.begin()
		wantFuture(c, "GetEstimatedRangeSizeBytes, inverted", tx.GetEstimatedRangeSizeBytes(model.Span("b", "a")), kv.CodeInvertedRange)
		wantFuture(c, "GetRangeSplitPoints, inverted", tx.GetRangeSplitPoints(model.Span("b", "a"), 1000), kv.CodeInvertedRange)
		wantFuture(c, "GetRangeSplitPoints of no bytes", tx.GetRangeSplitPoints(model.Span("a", "b"), 0), kv.CodeClientInvalidOperation)
		wantFuture(c, "GetRangeSplitPoints beyond the keys", tx.GetRangeSplitPoints(model.Span("a", "\xff\xff"), 1000), kv.CodeKeyOutsideLegalRange)
		tx.Cancel()
		wantFuture(c, "GetEstimatedRangeSizeBytes, cancelled", tx.GetEstimatedRangeSizeBytes(model.UserKeys()), kv.CodeTransactionCancelled)
		wantFuture(c, "GetRangeSplitPoints, cancelled", tx.GetRangeSplitPoints(model.UserKeys(), 1000), kv.CodeTransactionCancelled)
	}},
}

// sizedPairs pairs of sizedBytes each are what fillSizes writes.
const (
	sizedPairs = 800
	sizedBytes = 10_000
)

func sizedKey(i int) []byte { return fmt.Appendf(nil, "size/%06d", i) }

// fillSizes writes the pairs, in several transactions.
func fillSizes(c *conformance) {
	c.Helper()
	value := bytes.Repeat([]byte("v"), sizedBytes-len(sizedKey(0)))
	for from := 0; from < sizedPairs; from += 200 {
		c.update(func(tx kv.Transaction) {
			for i := range 200 {
				tx.Set(sizedKey(from+i), value)
			}
		})
	}
}

// estimateSize returns an estimate.
func estimateSize(c *conformance, r kv.KeyRange) int64 {
	c.Helper()
	size, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) (int64, error) {
		if _, err := tx.Get([]byte("x")).Get(c.ctx); err != nil { // after it the server knows of all commits before
			return 0, err
		}
		return tx.GetEstimatedRangeSizeBytes(r).Get(c.ctx)
	})
	if err != nil {
		c.Fatalf("GetEstimatedRangeSizeBytes(%q): %v", r, err)
	}
	return size
}

// wantSize expects an estimate that is not far off.
func wantSize(c *conformance, what string, r kv.KeyRange, want int64) {
	c.Helper()
	if size := estimateSize(c, r); size < want*7/10 || size > want*13/10 {
		c.Errorf("%s: the estimate is %d bytes, of %d", what, size, want)
	}
}

func splitPoints(c *conformance, r kv.KeyRange, chunk int64) [][]byte {
	c.Helper()
	points, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) ([][]byte, error) {
		if _, err := tx.Get([]byte("x")).Get(c.ctx); err != nil {
			return nil, err
		}
		return tx.Snapshot().GetRangeSplitPoints(r, chunk).Get(c.ctx)
	})
	if err != nil {
		c.Fatalf("GetRangeSplitPoints(%q, %d): %v", r, chunk, err)
	}
	return points
}

// wantDivision expects that points divide a range.
func wantDivision(c *conformance, points [][]byte, r kv.KeyRange) {
	c.Helper()
	c.want("the first and the last point", [][]byte{points[0], points[len(points)-1]}, [][]byte{r.Begin, r.End})
	for i := range points[1:] {
		if bytes.Compare(points[i], points[i+1]) >= 0 {
			c.Errorf("point %d is %q, after it is %q", i, points[i], points[i+1])
		}
	}
}

// bytesBetween counts the bytes from one key to another.
func bytesBetween(c *conformance, from, to []byte) (size int64) {
	c.Helper()
	err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
		size = 0
		for pair, err := range tx.GetRange(kv.KeyRange{Begin: from, End: to}.Selectors(), kv.RangeOptions{}).All(c.ctx) {
			if err != nil {
				return err
			}
			size += int64(len(pair.Key) + len(pair.Value))
		}
		return nil
	})
	if err != nil {
		c.Fatalf("counting: %v", err)
	}
	return size
}
