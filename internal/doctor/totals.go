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
	set      index.Set
}

// The bounds of counts and sums that are compared: the bytes of records that are read at
// one version beside writers, and those of the groups' keys in memory.
const (
	mostSummed = 16 << 20
	mostGroups = 64 << 20
)

// sumAtOnce adds up and compares at one version.
func (t *totals) sumAtOnce(ctx context.Context, tx kv.ReadTransaction, b *batch) error {
	t.groups, t.size = map[string]index.Total{}, 0
	there, err := t.exists(ctx, tx)
	if err != nil || !there {
		return err
	}
	if usable, err := t.refresh(ctx, tx); err != nil || !usable {
		return err
	}
	r := t.below(letterRecord, t.typ)
	size, err := tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if t.tooLarge = size > mostSummed; err != nil || t.tooLarge {
		return err
	}
	for r.Begin != nil {
		var records []*record
		if records, r.Begin, err = t.readRecords(ctx, tx, &batch{}, r); err != nil {
			return err
		}
		if t.addRecords(records); t.tooLarge {
			return nil
		}
	}
	for i := range t.indexes {
		if !t.indexes[i].Kind.HasTotals() {
			continue
		}
		pairs, err := tx.GetRange(index.Bounds{}.Range(t.indexes[i].Prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
		if err != nil {
			return err
		}
		t.compare(b, i, pairs)
		t.compareMissing(b, i)
	}
	return nil
}

// addRecords adds records to the groups.
func (t *totals) addRecords(records []*record) {
	for _, r := range records {
		payload, wrong := t.decode(r)
		if t.tooLarge || wrong != nil || t.gather(&t.set, r.id, payload) != nil {
			continue
		}
		for i := range t.indexes {
			if ix := &t.indexes[i]; ix.Kind.HasTotals() {
				t.size += t.set.AddTotals(i, ix, t.groups)
			}
		}
		t.tooLarge = t.size > mostGroups
	}
}

// compare compares entries of an index with what the records make, and takes these out of
// the groups.
func (t *totals) compare(b *batch, i int, pairs []kv.KeyValue) {
	for _, pair := range pairs {
		b.entries++
		total := t.groups[string(pair.Key)]
		delete(t.groups, string(pair.Key))
		t.check(b, i, pair.Key, pair.Value, total.Amount)
	}
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
	b.findings = append(b.findings, t.entryFinding(code, ix, bytes.Clone(key), nil, "it says %v, the records make %v", ix.PadTotal(value), want))
}
