// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// totals are what the records of a store add up to.
type totals struct {
	*store
	groups   map[string]index.Total // by the key of the entry
	size     int                    // bytes of the keys
	tooLarge bool
}

// The bounds of counts and sums that are compared: the bytes of records that are read at
// one version beside writers, as the engine estimates them and as they are, and those of
// the groups' keys in memory.
const (
	mostSummed = 16 << 20
	mostRead   = 2 * mostSummed
	mostGroups = 64 << 20
)

// sumAtOnce adds up and compares at one version.
func (t *totals) sumAtOnce(ctx context.Context, b *batch) error {
	t.groups, t.size = map[string]index.Total{}, 0
	there, err := t.exists(ctx, b)
	if err != nil || !there {
		return err
	}
	if usable, err := t.refresh(ctx, b); err != nil || !usable {
		return err
	}
	r := t.below(letterRecord, t.typ)
	size, err := b.tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if t.tooLarge = size > mostSummed; err != nil || t.tooLarge {
		return err
	}
	for r, err := range t.records(ctx, b, r) {
		if err != nil {
			return err
		}
		t.tooLarge = t.tooLarge || b.read > mostRead
		if t.addRecord(r); t.tooLarge {
			return nil
		}
	}
	return t.compareAtOnce(ctx, b)
}

// compareAtOnce compares the entries of all indexes.
func (t *totals) compareAtOnce(ctx context.Context, b *batch) error {
	for i := range t.indexes {
		if !t.indexes[i].Kind.HasTotals() {
			continue
		}
		for pair, err := range b.pairs(ctx, index.Bounds{}.Range(t.indexes[i].Prefix), kv.RangeOptions{Mode: kv.ModeWantAll}) {
			if err != nil {
				return err
			}
			t.compare(b, i, pair)
		}
		t.compareMissing(b, i)
	}
	return nil
}

// addRecord adds a record to the groups.
func (t *totals) addRecord(r *record) {
	if t.tooLarge || r.id == nil {
		return
	}
	payload, wrong := t.decode(r)
	if wrong != nil || t.gather(&t.set, r.id, payload) != nil {
		return
	}
	for i := range t.indexes {
		if ix := &t.indexes[i]; ix.Kind.HasTotals() {
			t.size += t.set.AddTotals(i, ix, t.groups)
		}
	}
	t.tooLarge = t.size > mostGroups
}

// compare compares an entry of an index with what the records make, and takes this out of
// the groups.
func (t *totals) compare(b *batch, i int, pair kv.KeyValue) {
	b.entries++
	total := t.groups[string(pair.Key)]
	delete(t.groups, string(pair.Key))
	t.check(b, i, pair.Key, pair.Value, total.Amount)
}

// compareMissing reports the groups that have no entry.
func (t *totals) compareMissing(b *batch, i int) {
	for _, key := range slices.Sorted(maps.Keys(t.groups)) {
		if total := t.groups[key]; total.Index == i {
			t.check(b, i, []byte(key), nil, total.Amount)
		}
	}
}

// check compares an entry, which may be nil, with what it should be. There is none of 0.
func (t *totals) check(b *batch, i int, key, value []byte, want index.Amount) {
	ix := &t.indexes[i]
	stored, err := ix.ReadTotal(value)
	if err == nil && stored == want && (value == nil || !stored.IsZero()) {
		return
	}
	code := "index/wrong-count"
	if ix.Kind == index.Sum {
		code = "index/wrong-sum"
	}
	b.report(t.entryFinding(code, ix, bytes.Clone(key), nil, "it says %v, the records make %v", ix.PadTotal(value), want))
}
