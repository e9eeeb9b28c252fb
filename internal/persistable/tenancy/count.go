// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// WorkPath is the path, in the root or in a partition, of the tenants that are arriving or
// removed. No store finds them there, and they are not counted.
var WorkPath = []string{"kazahana", "tenants"}

// Transact runs a function in transactions that commit only while the fences of the caller
// hold.
type Transact func(ctx context.Context, fn func(kv.Transaction) error) error

// StartRecount makes each directory on a path that has a quota count its records anew, from
// the first on, but for the first elements of the path, as many as skip says. tx changes which
// directories are in them: when it has committed, [Recount] counts.
func StartRecount(ctx context.Context, tx kv.Transaction, l *directory.Layer, path []string, skip int) error {
	for n := skip + 1; n <= len(path); n++ {
		d, err := l.Open(ctx, tx, path[:n])
		if err != nil {
			return err
		}
		s, keys, err := Read(ctx, tx, d)
		if err != nil {
			return err
		}
		if s.Quota.State == Off {
			continue
		}
		s.Quota.State = Counting
		keys.ClearUsage(tx)
		if err := s.Write(ctx, tx, d); err != nil {
			return err
		}
	}
	return nil
}

// Recount goes on with the counts of the directories on a path. One that is not there any
// more needs none.
func Recount(ctx context.Context, transact Transact, l *directory.Layer, path []string) error {
	for n := 1; n <= len(path); n++ {
		err := Count(ctx, transact, l, path[:n])
		if err != nil && !errors.Is(err, directory.ErrNotFound) {
			return fmt.Errorf("the change is made, but it is unknown whether the records of the directory %q are counted anew; SetQuota of package tenants with the same quota goes on: %w", path[:n], err)
		}
	}
	return nil
}

// Count counts the records of a directory that are not counted yet. It returns when all are.
func Count(ctx context.Context, transact Transact, l *directory.Layer, path []string) error {
	for done := false; !done; {
		err := transact(ctx, func(tx kv.Transaction) error {
			c := count{layer: l, path: path}
			err := c.step(ctx, tx)
			done = c.done
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countBytes is about how much a transaction of a count reads.
const countBytes = 500_000

// count is a step of the count of a directory's records. Records are counted in the order
// of their keys in the database, over all directories of the tenant. A write counts its
// record if the record's key is below the step's end, which is stored. So that each
// record is counted once, a step conflicts with each write that it does not see:
//
//   - with one that commits before it, because it has read the keys and the directories;
//   - with one that commits after it and has read before, because it writes to the ranges of
//     keys in which the write has read its record's key;
//   - where such a write makes a directory, because it writes to the key of the settings, which
//     the write has read.
type count struct {
	layer *directory.Layer
	path  []string

	usage  Usage
	size   int
	begin  []byte        // where the step before ended
	end    []byte        // after all keys that the last record counted can have
	ranges []kv.KeyRange // the records that were read
	done   bool          // no records are left
}

// step counts some records and writes how many there are now.
func (c *count) step(ctx context.Context, tx kv.Transaction) error {
	d, err := c.layer.Open(ctx, tx, c.path)
	if err != nil {
		return err
	}
	s, keys, err := Read(ctx, tx, d)
	if c.done = s.Quota.State != Counting; c.done || err != nil {
		return err
	}
	if c.begin, err = tx.Get(keys.Counted).Get(ctx); err != nil {
		return err
	}
	if err := c.run(ctx, tx); err != nil {
		return err
	}
	keys.AddUsage(tx, c.usage)
	if c.done {
		s.Quota.State = On
		tx.Clear(keys.Counted)
		return s.Write(ctx, tx, d)
	}
	tx.Set(keys.Counted, c.end)
	return c.conflict(tx, keys)
}

// conflict makes a write conflict if it has read before the step commits, and the step has
// counted its record or would have.
func (c *count) conflict(tx kv.Transaction, keys Keys) error {
	errs := []error{tx.AddWriteConflictKey(keys.Settings)}
	for _, r := range c.ranges {
		if bytes.Compare(c.end, r.End) < 0 {
			r.End = c.end
		}
		errs = append(errs, tx.AddWriteConflictRange(r))
	}
	return errors.Join(errs...)
}

// run counts records until the step is full; otherwise it is the last one.
func (c *count) run(ctx context.Context, tx kv.ReadTransaction) error {
	c.end = c.begin
	all, err := c.recordRanges(ctx, tx)
	if err != nil {
		return err
	}
	for _, records := range all {
		if bytes.Compare(records.End, c.begin) <= 0 {
			continue
		}
		records.Begin = slices.MaxFunc([][]byte{records.Begin, c.begin}, bytes.Compare)
		c.ranges = append(c.ranges, records)
		if full, err := c.countRange(ctx, tx, records); full || err != nil {
			return err
		}
	}
	c.done = true
	return nil
}

// recordRanges returns the ranges of all records in the directory, ascending.
func (c *count) recordRanges(ctx context.Context, tx kv.ReadTransaction) (ranges []kv.KeyRange, err error) {
	all, err := c.layer.Subtree(ctx, tx, c.path)
	for _, d := range all {
		if !d.IsPartition() && !isWork(d) {
			ranges = append(ranges, kv.PrefixRange(tuple.AppendString(d.Reserve().Begin, "R")))
		}
	}
	slices.SortFunc(ranges, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	return ranges, err
}

// isWork reports whether a directory is in that of a partition for tenants which are
// arriving or removed.
func isWork(d *directory.Directory) bool {
	path := d.Path()
	for i, layer := range d.Layers() {
		below := path[i+1:]
		if n := len(WorkPath); layer == directory.Partition && len(below) >= n && slices.Equal(below[:n], WorkPath) {
			return true
		}
	}
	return false
}

// countRange counts the records of a range until the step is full, at least one.
func (c *count) countRange(ctx context.Context, tx kv.ReadTransaction, keys kv.KeyRange) (full bool, err error) {
	var key []byte       // of the current record
	var size, chunks int // its bytes so far, the chunks to come
	for pair, err := range tx.GetRange(keys.Selectors(), kv.RangeOptions{Mode: kv.ModeIterator}).All(ctx) {
		if err != nil {
			return false, err
		}
		if chunks == 0 {
			r, err := format.ParseRecord(pair.Value)
			if err != nil {
				return false, fmt.Errorf("the record at key %x: %w", pair.Key, err)
			}
			key, size, chunks = pair.Key, 0, r.Chunks+1
		}
		size += len(pair.Value)
		if chunks--; chunks > 0 {
			continue
		}
		c.usage.Records++
		c.usage.Bytes += int64(size)
		c.end = append(bytes.Clone(key), 0xff) // it may have more chunks by the next step
		if c.size += len(key) + size; c.size >= countBytes {
			return true, nil
		}
	}
	return false, nil
}
