// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// compareBatch compares the next entries of index i, behind one of them, with those of
// its recount, at one version, and mends them if the options say so.
func (v *verifier) compareBatch(ctx context.Context, i int, after []byte) (lost bool, err error) {
	var c *comparison
	err = v.place.db.readOnly(ctx, func(t *transaction) error {
		c = &comparison{index: i, after: after, limit: v.place.db.options.BuildBatch}
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		return c.run(ctx, t.Reader, o)
	})
	if err != nil {
		return false, err
	}
	if c.lost {
		return true, nil
	}
	if v.options.Repair {
		if err := v.mendTotals(ctx, c); err != nil || c.lost {
			return c.lost, err
		}
	}
	if c.next != nil {
		v.startCompare(i, c.next)
	} else {
		v.startCompare(i+1, nil)
	}
	v.addPart(c.part)
	return false, nil
}

// comparison compares entries of a count or a sum with those of its recount.
type comparison struct {
	index  int
	after  []byte // what follows the prefix in the key of the last entry that is done
	limit  int    // the most entries of each
	part   Report
	faults []totalFault
	lost   bool   // the recount is not there, or not complete
	next   []byte // the new after; nil: none are left
}

// run compares, if the index is readable.
func (c *comparison) run(ctx context.Context, reader kv.ReadTransaction, o *openStore) error {
	ix := &o.indexes[c.index]
	if ix.State != index.Readable {
		c.part.Skipped = []string{ix.KeyName()}
		return nil
	}
	recount := o.recountOf(ix)
	if c.lost = recount == nil; c.lost {
		return nil
	}
	start := func(ix *index.Index) kv.RangeResult {
		r := index.Bounds{}.Range(ix.Prefix)
		if len(c.after) > 0 {
			r.Begin = kv.Successor(append(slices.Clone(ix.Prefix), c.after...))
		}
		return reader.GetRange(r.Selectors(), kv.RangeOptions{Limit: c.limit, Mode: kv.ModeExact})
	}
	read, readRecount := start(ix), start(recount)
	stored, err := read.Slice(ctx)
	if err != nil {
		return err
	}
	want, err := readRecount.Slice(ctx)
	if err != nil {
		return err
	}
	c.compare(ix, recount, stored, want)
	return nil
}

// compare walks over two ascending lists of entries. Where a list is as long as the
// limit, more may follow: then the comparison ends with its last key.
func (c *comparison) compare(ix, recount *index.Index, stored, want []kv.KeyValue) {
	for _, list := range []struct {
		pairs  []kv.KeyValue
		prefix int
	}{{stored, len(ix.Prefix)}, {want, len(recount.Prefix)}} {
		if len(list.pairs) == c.limit {
			last := slices.Clone(list.pairs[c.limit-1].Key[list.prefix:])
			if c.next == nil || bytes.Compare(last, c.next) < 0 {
				c.next = last
			}
		}
	}
	for len(stored) > 0 || len(want) > 0 {
		group, value, total := takeLower(ix, recount, &stored, &want)
		if c.next != nil && bytes.Compare(group, c.next) > 0 {
			return
		}
		if value != nil {
			c.part.Entries++
		}
		key := append(slices.Clone(ix.Prefix), group...)
		if f, found := newTotalFault(c.index, ix, key, value, recount.PadTotal(total)); found {
			c.faults = append(c.faults, f)
			c.part.addFault(f.fault(ix))
		}
	}
}

// takeLower takes the lower of the first keys off both lists: what follows the prefix,
// and the values, nil in a list that does not have it.
func takeLower(ix, recount *index.Index, stored, want *[]kv.KeyValue) (group, value, total []byte) {
	order := 0
	switch {
	case len(*stored) == 0:
		order = 1
	case len(*want) == 0:
		order = -1
	default:
		order = bytes.Compare((*stored)[0].Key[len(ix.Prefix):], (*want)[0].Key[len(recount.Prefix):])
	}
	if order >= 0 {
		group, total, *want = (*want)[0].Key[len(recount.Prefix):], (*want)[0].Value, (*want)[1:]
	}
	if order <= 0 {
		group, value, *stored = (*stored)[0].Key[len(ix.Prefix):], (*stored)[0].Value, (*stored)[1:]
	}
	return group, value, total
}

// mendTotals corrects the entries at fault by what their recounts say when the transaction
// reads. It reads them as a snapshot: it conflicts with other repairs, and not with writes.
func (v *verifier) mendTotals(ctx context.Context, c *comparison) error {
	for faults := range slices.Chunk(c.faults, maxRepairs) {
		err := v.place.db.transact(ctx, func(t *transaction) error {
			o, err := t.openStoreToWrite(ctx, v.place)
			if err != nil || o == nil {
				return err
			}
			ix := &o.indexes[c.index]
			recount := o.recountOf(ix) // while it is there the index is readable
			if c.lost = recount == nil; c.lost {
				return nil
			}
			err = cmp.Or(o.excludeRepairs(t, v.place), mendBy(ctx, t.writer, ix, recount, faults))
			build.Reach(ctx, build.Mended)
			return err
		})
		if err != nil || c.lost {
			return err
		}
		c.part.Repaired += len(faults)
	}
	return nil
}

// mendBy corrects entries by their recounts.
func mendBy(ctx context.Context, tx kv.Transaction, ix, recount *index.Index, faults []totalFault) error {
	reader := tx.Snapshot()
	for _, f := range faults {
		value, err := reader.Get(f.key).Get(ctx)
		if err != nil {
			return err
		}
		total, err := reader.Get(append(slices.Clone(recount.Prefix), f.key[len(ix.Prefix):]...)).Get(ctx)
		if err != nil {
			return err
		}
		if now, found := newTotalFault(f.index, ix, f.key, value, recount.PadTotal(total)); found {
			now.mend(tx, ix)
		}
	}
	return nil
}
