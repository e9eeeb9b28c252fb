// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
)

// totalFault is an entry of a count or a sum that is wrong, missing, left over or damaged.
type totalFault struct {
	index        int
	key          []byte
	stored, want index.Amount
}

// newTotalFault compares a stored entry, which may be nil, with what it should be, at one
// version. An entry of 0 is left over.
func newTotalFault(i int, ix *index.Index, key, value []byte, want index.Amount) (f totalFault, found bool) {
	stored, err := ix.ReadTotal(value)
	if err == nil && stored == want && (value == nil || !stored.IsZero()) {
		return f, false
	}
	return totalFault{i, key, ix.PadTotal(value), want}, true
}

func (f totalFault) fault(ix *index.Index) Fault {
	return Fault{Index: ix.KeyName(), Key: f.key, Reason: fmt.Sprintf("it says %v, the records make %v", f.stored, f.want)}
}

// mend adds the difference: writes that commit between the version of the comparison and
// this transaction add theirs, so in the end the entry is what it should be.
func (f totalFault) mend(tx kv.Transaction, ix *index.Index) {
	ix.AddTotal(tx, f.key, f.want.Add(f.stored.Negate()))
}

// verifyCounts compares all counts and sums with the records: at one version if there are
// few of them, by recounts otherwise, unless the options exclude those.
func (v *verifier) verifyCounts(ctx context.Context) error {
	if !slices.ContainsFunc(v.record.Indexes, func(d index.Definition) bool { return d.Kind.HasTotals() }) {
		return nil
	}
	if v.cursor.position == nil || v.options.NoRecount { // else a call before has begun with recounts
		done, err := v.recountAtOnce(ctx)
		if done || err != nil {
			return err
		}
	}
	if v.options.NoRecount {
		v.skipTotals()
		return nil
	}
	return v.recountBesideWriters(ctx)
}

// recountAtOnce compares counts and sums at one version. It reports false if that takes
// too long, or more memory than maxRecount.
func (v *verifier) recountAtOnce(ctx context.Context) (done bool, err error) {
	var r *recount
	err = v.db.readOnly(ctx, func(t *transaction) error {
		r = v.newRecount()
		o, err := t.openStore(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		return r.run(ctx, t, o, v.recountLimit())
	})
	if err == nil && !r.tooLarge && v.options.Repair && len(r.faults) > 0 {
		err = v.mendAtOnce(ctx)
		r.part.Repaired = len(r.faults)
	}
	if err == nil && !r.tooLarge {
		err = v.removeLeftovers(ctx)
	}
	if err != nil || r.tooLarge {
		return false, unlessTooMuch(err)
	}
	v.addPart(r.part)
	return true, nil
}

// mendAtOnce compares counts and sums again, at the version at which the transaction
// reads, and corrects those that are wrong then. It conflicts with other repairs only.
func (v *verifier) mendAtOnce(ctx context.Context) error {
	return v.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		r := v.newRecount()
		if err := cmp.Or(o.excludeRepairs(t, v.place), r.run(ctx, t.snapshot(), o, math.MaxInt64)); err != nil {
			return err
		}
		r.mend(t.writer, o)
		worklist.Reach(ctx, build.Mended)
		return nil
	})
}

func (v *verifier) newRecount() *recount {
	return &recount{source: v.source, totals: map[string]index.Total{}}
}

func (v *verifier) recountLimit() int64 { return cmp.Or(v.options.RecountBytes, defaultRecountBytes) }

// unlessTooMuch returns err, but nil if a transaction has taken too long, or was too large.
func unlessTooMuch(err error) error {
	var slow *kv.RetryError
	if kv.CodeOf(err) == kv.CodeTransactionTooLarge || errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld {
		return nil
	}
	return err
}

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
