// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// recount compares the counts and sums of a store with its records, all at one version:
// so concurrent writes make no difference.
type recount struct {
	*source
	part   Report
	totals map[string]index.Total // of the records, by the key of the entry
	size   int                    // bytes of their keys
}

// maxRecount bounds the keys that a recount holds in memory, in bytes.
const maxRecount = 64 << 20

// run reads all records, and then all counts and sums.
func (r *recount) run(ctx context.Context, t *transaction, o *openStore) error {
	q := query{source: *r.source, plan: plan{Index: byID, AsIs: true}}
	var set index.Set
	for g, err := range q.recordGroups(ctx, t, o, q.plan, &cursor{}) {
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
		if r.size > maxRecount {
			r.skipAll()
			return nil
		}
	}
	for i := range o.indexes {
		if err := r.compare(ctx, t, o, i); err != nil {
			return err
		}
	}
	return nil
}

// skipAll notes that no count or sum was compared.
func (r *recount) skipAll() {
	r.part = Report{}
	for _, d := range r.record.Indexes {
		if d.Kind.HasTotals() {
			r.part.Skipped = append(r.part.Skipped, d.Name)
		}
	}
}

// compare compares the entries of an index with the totals of the records.
func (r *recount) compare(ctx context.Context, t *transaction, o *openStore, i int) error {
	ix := &o.indexes[i]
	switch {
	case !ix.Kind.HasTotals():
		return nil
	case ix.State != index.Readable:
		r.part.Skipped = append(r.part.Skipped, ix.Name)
		return nil
	}
	pairs := t.Reader.GetRange(index.Bounds{}.Range(ix.Prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeSerial})
	for pair, err := range pairs.All(ctx) {
		if err != nil {
			return err
		}
		r.part.Entries++
		stored, err := ix.ReadTotal(pair.Value)
		want := r.totals[string(pair.Key)].Amount
		delete(r.totals, string(pair.Key))
		if err != nil || stored != want || stored.IsZero() {
			r.addFault(ix, pair.Key, stored, want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.totals)) {
		if total := r.totals[key]; total.Index == i && !total.Amount.IsZero() {
			r.addFault(ix, []byte(key), index.Amount{}, total.Amount)
		}
	}
	return nil
}

func (r *recount) addFault(ix *index.Index, key []byte, stored, want index.Amount) {
	r.part.addFault(Fault{Index: ix.Name, Key: slices.Clone(key), Reason: fmt.Sprintf("it says %v, the records make %v", stored, want)})
}
