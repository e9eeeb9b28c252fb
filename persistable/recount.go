// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// recount compares the counts and sums of a store with its records, all at one version:
// so concurrent writes make no difference.
type recount struct {
	*source
	part     Report
	tooLarge bool                   // for the memory, or for limit: nothing was compared
	totals   map[string]index.Total // of the records, by the key of the entry
	size     int                    // bytes of their keys
	faults   []totalFault
}

// maxRecount bounds the keys that a recount holds in memory, in bytes.
const maxRecount = 64 << 20

// run reads all records, unless they are larger than limit, and then all counts and sums.
func (r *recount) run(ctx context.Context, reader *transaction, o *openStore, limit int64) error {
	size, err := reader.Reader.GetEstimatedRangeSizeBytes(kv.PrefixRange(o.records.Prefix)).Get(ctx)
	if err != nil {
		return err
	}
	if r.tooLarge = size > limit; r.tooLarge {
		return nil
	}
	if err := r.addRecords(ctx, reader, o); err != nil || r.tooLarge {
		return err
	}
	for i := range o.indexes {
		if err := r.compare(ctx, reader, o, i); err != nil {
			return err
		}
	}
	return nil
}

// addRecords adds up what the records make.
func (r *recount) addRecords(ctx context.Context, reader *transaction, o *openStore) error {
	q := query{source: *r.source, plan: plan{Index: byID, AsIs: true}}
	var set index.Set
	for g, err := range q.recordGroups(ctx, reader, o, q.plan, &cursor{}, nil) {
		if err != nil {
			return err
		}
		v, err := q.decodeGroup(g)
		if err != nil || r.record.gatherEntries(&set, o, g.ID, v) != nil {
			continue // the step of the records reports it
		}
		for i := range o.indexes {
			if ix := &o.indexes[i]; ix.Kind.HasTotals() {
				r.size += set.AddTotals(i, ix, r.totals)
			}
		}
		if r.tooLarge = r.size > maxRecount; r.tooLarge {
			return nil
		}
	}
	return nil
}

// compare compares the entries of an index with the totals of the records.
func (r *recount) compare(ctx context.Context, reader *transaction, o *openStore, i int) error {
	ix := &o.indexes[i]
	switch {
	case !ix.Kind.HasTotals():
		return nil
	case ix.State != index.Readable:
		r.part.Skipped = append(r.part.Skipped, ix.KeyName())
		return nil
	}
	pairs := reader.Reader.GetRange(index.Bounds{}.Range(ix.Prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeSerial})
	for pair, err := range pairs.All(ctx) {
		if err != nil {
			return err
		}
		r.part.Entries++
		r.check(i, ix, pair.Key, pair.Value, r.totals[string(pair.Key)].Amount)
		delete(r.totals, string(pair.Key))
	}
	for _, key := range slices.Sorted(maps.Keys(r.totals)) {
		if total := r.totals[key]; total.Index == i {
			r.check(i, ix, []byte(key), nil, total.Amount)
		}
	}
	return nil
}

// check compares an entry with what the records make of it.
func (r *recount) check(i int, ix *index.Index, key, value []byte, want index.Amount) {
	if f, found := newTotalFault(i, ix, slices.Clone(key), value, want); found {
		r.faults = append(r.faults, f)
		r.part.addFault(f.fault(ix))
	}
}

// mend corrects the entries at fault. The changes commute with those of concurrent
// writes: they do not conflict with them.
func (r *recount) mend(tx kv.Transaction, o *openStore) {
	for _, f := range r.faults {
		f.mend(tx, &o.indexes[f.index])
	}
}
