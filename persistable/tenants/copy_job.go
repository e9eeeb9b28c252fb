// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// copyJob is a copy under a lock, which processes share: a [worklist.Job]. The ranges of its list are
// in annotations of the directory that arrives, after that of the arrival:
//
//	("annotation", "kazahana", "arrival", "range", begin…) = a [worklist.Range]
//
// The keys of ranges are (number of the directory, key relative to its prefix). The result of a range
// is the number of its transactions, as a tuple.
type copyJob struct {
	src     *source
	dst     *stage
	options CopyOptions
	sum     Progress
}

// The options of work lists for copies.
const (
	copyRangeBytes = 1 << 20
	copyBatch      = 10_000 // pairs
	copyLease      = 10 * time.Second
	// copyDirectoryBytes is what a directory counts for in the size of a batch, apart from its keys: it
	// takes some reads, and a transaction has five seconds.
	copyDirectoryBytes = 4 << 10
)

// copyBegun is the stage at which the list is there, and nothing of this call is copied.
const copyBegun worklist.Stage = "copy-begun"

// run copies what no other process has copied, and waits for what others copy.
func (c *copyJob) run(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	worklist.Reach(ctx, copyBegun)
	err := worklist.NewRun(c, worklist.Options{
		Workers: max(c.options.Workers, 1), Share: 1, NoPause: true, BatchRecords: copyBatch, RangeBytes: copyRangeBytes, Lease: cmp.Or(c.options.Lease, copyLease),
		Now: time.Now, Progress: c.report,
	}).Work(ctx)
	if err != nil {
		return err
	}
	return c.dst.finish(ctx, c.checkDone)
}

// begin writes the list, unless another call has.
func (c *copyJob) begin(ctx context.Context) error {
	return c.dst.transact(ctx, func(tx kv.Transaction) error {
		if _, err := c.dst.readUnlocked(ctx, tx); err != nil {
			return err
		}
		ranges, err := c.dst.list.ReadAll(ctx, tx)
		if err == nil && len(ranges) == 0 {
			ranges, err = c.split(ctx, tx)
			for i := range ranges {
				c.dst.list.Write(tx, &ranges[i])
			}
		}
		return errors.Join(err, c.add(ranges))
	})
}

// split divides the keys of all directories. A range may have those of several small directories.
func (c *copyJob) split(ctx context.Context, tx kv.ReadTransaction) ([]worklist.Range, error) {
	sizes, total, err := c.src.dirs.estimateSizes(ctx, tx)
	if err != nil {
		return nil, err
	}
	begins, size, least := [][]byte{copyKey(0, nil)}, int64(0), max(copyRangeBytes, total/worklist.MaxRanges)
	for dir, b := range c.src.dirs {
		if b.isPartition() {
			continue
		}
		if size += sizes[dir]; size > least && dir > 0 {
			begins, size = append(begins, copyKey(dir, nil)), sizes[dir]
		}
		if sizes[dir] < 2*least {
			continue
		}
		points, _, err := worklist.Split(ctx, tx, b.keys, least, worklist.MaxRanges, copyKey(dir, nil), func(point []byte) ([]byte, bool) {
			return copyKey(dir, point[min(len(point), len(b.keys.Begin)):]), true
		})
		if err != nil {
			return nil, err
		}
		begins, size = append(begins, points[1:]...), least
	}
	return worklist.NewRanges(begins, copyKey(len(c.src.dirs), nil), total), nil
}

// copyKey returns a key of ranges: that of a directory's key, relative to its prefix.
func copyKey(dir int, key []byte) []byte { return append(tuple.AppendInt(nil, int64(dir)), key...) }

// parseCopyKey reads what copyKey returned.
func (c *copyJob) parseCopyKey(b []byte) (dir int, key []byte, err error) {
	n, key, err := tuple.ReadInt(b)
	if most := int64(len(c.src.dirs)); err != nil || n < 0 || n > most || n == most && len(key) > 0 {
		return 0, nil, fmt.Errorf("tenants: what is known of the unfinished copy is damaged: abandon it: %x", b)
	}
	return int(n), key, nil
}

// Transact implements [worklist.Job].
func (c *copyJob) Transact(ctx context.Context, fn func(worklist.Transaction) error) error {
	return c.dst.transact(ctx, func(tx kv.Transaction) error { return fn(copyTransaction{c, tx}) })
}

// Read implements [worklist.Job].
func (c *copyJob) Read(ctx context.Context, fn func(kv.ReadTransaction, worklist.List) error) error {
	return c.dst.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(tx, c.dst.list) })
}

// report notes how far all processes have come, and calls the caller's Progress.
func (c *copyJob) report(ranges []worklist.Range) {
	if err := c.add(ranges); err == nil && c.options.Progress != nil {
		c.options.Progress(c.sum)
	}
}

// add makes the sum that of the ranges.
func (c *copyJob) add(ranges []worklist.Range) error {
	var sum Progress
	for i := range ranges {
		blocks, err := copiedBlocks(&ranges[i])
		if err != nil {
			return err
		}
		sum = Progress{Blocks: sum.Blocks + blocks, Pairs: sum.Pairs + ranges[i].Records, Bytes: sum.Bytes + ranges[i].Bytes}
	}
	c.sum = sum
	return nil
}

// copiedBlocks returns how many transactions have copied keys of a range.
func copiedBlocks(r *worklist.Range) (n int64, err error) {
	if r.Result != nil {
		n, _, err = tuple.ReadInt(r.Result)
	}
	return n, err
}

// checkDone returns an error unless all ranges are copied.
func (c *copyJob) checkDone(ctx context.Context, tx kv.ReadTransaction, _ arrival) error {
	ranges, err := c.dst.list.ReadAll(ctx, tx)
	if err == nil && !worklist.AllDone(ranges) {
		err = fmt.Errorf("%w (another call has begun it again)", ErrUnfinished)
	}
	return errors.Join(err, c.add(ranges))
}

// copyTransaction is a transaction of a copy.
type copyTransaction struct {
	*copyJob
	tx kv.Transaction
}

// KV implements [worklist.Transaction].
func (c copyTransaction) KV() kv.Transaction { return c.tx }

// Open implements [worklist.Transaction]. The call that finishes or abandons the copy removes the arrival.
func (c copyTransaction) Open(ctx context.Context) (l worklist.List, open bool, err error) {
	there, err := c.tx.Get(c.dst.key).Get(ctx)
	if err == nil && there != nil {
		_, err = c.dst.readUnlocked(ctx, c.tx)
	}
	return c.dst.list, there != nil && err == nil, err
}

// Work implements [worklist.Transaction]: it copies the next keys of a range, which may be those of
// several directories.
func (c copyTransaction) Work(ctx context.Context, r *worklist.Range, batch worklist.Batch) (taken worklist.Portion, err error) {
	if err := c.src.checkLock(ctx, c.tx, c.src.lock); err != nil {
		return taken, err
	}
	blocks, err := copiedBlocks(r)
	taken.Next = r.Next
	for left := batch.Bytes; err == nil && left > 0 && taken.Records < batch.Records && bytes.Compare(taken.Next, r.End) < 0; left -= copyDirectoryBytes {
		var b *block
		b, taken.Next, err = c.copyBlock(ctx, taken.Next, r.End, batch.Records-taken.Records, left)
		if b != nil {
			left -= int(b.size())
			taken.Records, taken.Bytes = taken.Records+len(b.pairs), taken.Bytes+int(b.size())
		}
	}
	r.Result = tuple.AppendInt(nil, blocks+1)
	return taken, err
}

// copyBlock copies the next keys of one directory, if there are any, and returns where the rest begins.
func (c copyTransaction) copyBlock(ctx context.Context, begin, end []byte, pairs, size int) (b *block, next []byte, err error) {
	dir, keys, next, err := c.parsePart(begin, end)
	if err != nil || c.src.dirs[dir].isPartition() {
		return nil, next, err
	}
	if err := c.src.checkDirectory(ctx, c.tx, dir); err != nil {
		return nil, nil, err
	}
	b, err = c.src.readBlock(ctx, c.tx.Snapshot(), dir, keys, pairs, size)
	if err != nil || b == nil {
		return nil, next, err
	}
	if len(b.pairs) == pairs || b.size() >= int64(size) {
		next = copyKey(dir, kv.Successor(b.last()))
	}
	return b, next, c.dst.write(c.tx, b)
}

// parsePart returns the directory of the first keys from begin to end, its keys up to end, and where
// the rest begins.
func (c *copyJob) parsePart(begin, end []byte) (dir int, keys kv.KeyRange, next []byte, err error) {
	dir, from, err := c.parseCopyKey(begin)
	if err != nil {
		return 0, keys, nil, err
	}
	last, to, err := c.parseCopyKey(end)
	if err != nil {
		return 0, keys, nil, err
	}
	all := c.src.dirs[dir].keys
	keys = kv.KeyRange{Begin: slices.Concat(all.Begin, from), End: all.End}
	if last > dir {
		return dir, keys, copyKey(dir+1, nil), nil
	}
	keys.End = slices.Concat(all.Begin, to)
	return dir, keys, end, nil
}
