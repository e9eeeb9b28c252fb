// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// recountBesideWriters counts anew in indexes of their own, the recounts, compares them
// with the counts and sums, and removes them. All programs maintain recounts as they
// maintain any index that is being built, so at each version both should be the same.
//
// After an interruption another call goes on with the recounts that it finds, whatever
// state they are in. Calls of several processes share them. Where another call has
// removed them before this one has compared all, it makes them again.
func (v *verifier) recountBesideWriters(ctx context.Context) error {
	if v.cursor.position == nil {
		v.startCompare(0, nil)
	}
	for range maxRecounts {
		if err := v.buildRecounts(ctx); err != nil {
			return v.skipIfLocked(err)
		}
		lost, err := v.compareRecounts(ctx)
		if err != nil {
			return err
		}
		if !lost {
			return v.removeRecounts(ctx)
		}
	}
	return fmt.Errorf("persistable: %s: other programs keep removing the recounts of its counts and sums: verify in one program at a time", v.record.Type)
}

// maxRecounts is how often recounts are made again.
const maxRecounts = 10

// buildRecounts completes the recounts of all counts and sums that are readable. It adds
// those that are missing.
func (v *verifier) buildRecounts(ctx context.Context) error {
	if err := v.changeRecounts(ctx, func(next *format.Catalog, d *index.Definition) { next.AddRecount(d) }); err != nil {
		return err
	}
	worklist.Reach(ctx, build.Recounting)
	o := v.options.Build.internal(v.place.db.options.BuildBatch)
	o.Begins = func(d *index.Definition) bool {
		_, recounts := index.CutRecount(d.KeyName())
		return recounts
	}
	for found := true; found; {
		var err error
		if found, err = build.NewRun(buildStore{v.source}, o).Build(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeRecounts removes the recounts.
func (v *verifier) removeRecounts(ctx context.Context) error {
	worklist.Reach(ctx, build.Compared)
	return v.changeRecounts(ctx, func(next *format.Catalog, d *index.Definition) { next.RemoveRecount(d) })
}

// removeLeftovers removes the recounts that an interrupted verification has left, unless the
// options exclude that, or the store is locked. Another verification that uses them makes
// them again.
func (v *verifier) removeLeftovers(ctx context.Context) error {
	left := false
	err := v.db.readOnly(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, v.place)
		left = err == nil && o != nil && len(o.catalog.LostRecounts(&format.Catalog{})) > 0
		return err
	})
	if err != nil || !left || v.options.NoRecount {
		return err
	}
	if err = v.removeRecounts(ctx); errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}

// changeRecounts changes the header for each count and sum.
func (v *verifier) changeRecounts(ctx context.Context, change func(*format.Catalog, *index.Definition)) error {
	return v.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.Clone()
		for _, d := range v.place.definitions {
			if d.Kind.HasTotals() {
				change(next, d)
			}
		}
		if next.Equal(o.catalog) {
			return nil
		}
		return t.changeCatalog(ctx, v.place, o, next)
	})
}

// skipIfLocked reports all counts and sums as skipped if err says that the store is
// locked: nothing can be counted anew there.
func (v *verifier) skipIfLocked(err error) error {
	if !errors.Is(err, ErrLocked) || v.options.Repair {
		return err
	}
	v.skipTotals()
	return nil
}

// skipTotals reports all counts and sums as skipped.
func (v *verifier) skipTotals() {
	var part Report
	for _, d := range v.place.definitions {
		if d.Kind.HasTotals() {
			part.Skipped = append(part.Skipped, d.KeyName())
		}
	}
	v.addPart(part)
}

// startCompare lets the comparison go on in index i, with the first entry after the key after, which
// is relative to the prefix. The position of the verifier is (the index's name, after);
// the name is empty after the last index.
func (v *verifier) startCompare(i int, after []byte) {
	name := ""
	if i < len(v.record.Indexes) {
		name = v.record.Indexes[i].KeyName()
	}
	v.cursor.position = append(tuple.AppendString(nil, name), after...)
}

// comparePosition is the inverse of startCompare.
func (v *verifier) comparePosition() (i int, after []byte, err error) {
	name, after, err := tuple.ReadString(v.cursor.position)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if name == "" {
		return len(v.record.Indexes), nil, nil
	}
	i, err = v.findIndex(name)
	return i, after, err
}

// compareRecounts compares all recounts, from the verifier's position on. It reports true
// if one is not there.
func (v *verifier) compareRecounts(ctx context.Context) (lost bool, err error) {
	for {
		i, after, err := v.comparePosition()
		switch {
		case err != nil || i == len(v.record.Indexes):
			return false, err
		case !v.record.Indexes[i].Kind.HasTotals():
			v.startCompare(i+1, nil)
			continue
		}
		if lost, err := v.compareBatch(ctx, i, after); lost || err != nil {
			return lost, err
		}
	}
}

// compareBatch compares the next entries of index i, after one of them, with those of
// its recount, at one version, and mends them if the options say so.
func (v *verifier) compareBatch(ctx context.Context, i int, after []byte) (lost bool, err error) {
	var c *comparison
	err = v.db.readOnly(ctx, func(t *transaction) error {
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
		err := v.db.transact(ctx, func(t *transaction) error {
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
			worklist.Reach(ctx, build.Mended)
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
