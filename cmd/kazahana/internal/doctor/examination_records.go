// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
)

// examineRecords checks that each record can be read, and has its entries.
func (x *examination) examineRecords(ctx context.Context, s *store) error {
	whole, err := x.eachRecord(ctx, s, s.compareRecord)
	s.damaged = s.damaged || !whole
	return err
}

// examineEntries checks that each entry has a record that has it.
func (x *examination) examineEntries(ctx context.Context, s *store) error {
	for _, entry := range s.catalog.All() {
		name := entry.KeyName
		if i := s.indexOf(name); i < 0 || !s.indexes[i].Kind.HasEntries() {
			continue
		}
		_, err := x.eachStorePair(ctx, s, s.below(letterEntry, name), func(b *batch, pair kv.KeyValue) awaitFunc {
			if i := s.indexOf(name); i >= 0 && s.indexes[i].Kind.HasEntries() {
				return s.compareEntry(b, i, pair)
			}
			return nothing
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// examineDerived compares the keys of indexes that follow from entries with these: the counts
// of ranks.
func (x *examination) examineDerived(ctx context.Context, s *store) error {
	for _, entry := range s.catalog.All() {
		if i := s.indexOf(entry.KeyName); i < 0 || !s.indexes[i].Kind.HasDerived() {
			continue
		}
		if err := x.examineDerivedOf(ctx, s, entry.KeyName); err != nil {
			return err
		}
	}
	return nil
}

// derivedUnits is how many such keys of an index a batch compares at most. Each count of a
// rank index is compared with some 16 of the level below.
const derivedUnits = 100

// examineDerivedOf does that for an index.
func (x *examination) examineDerivedOf(ctx context.Context, s *store, name string) error {
	_, err := x.run(ctx, pass{
		place: s.place, store: s, name: "the counts of the index " + name, at: []byte{},
		examine: func(ctx context.Context, b *batch, at []byte) ([]byte, error) {
			i := s.indexOf(name)
			if i < 0 || !s.indexes[i].Kind.HasDerived() {
				return nil, nil
			}
			ix := &s.indexes[i]
			b.units = min(b.most, derivedUnits)
			next, err := ix.VerifyDerived(ctx, b.tx, at, b.units)
			var wrong *index.DerivedError
			if errors.As(err, &wrong) {
				b.report(s.entryFinding("index/wrong-"+string(ix.Kind), ix, wrong.Key, nil, "%s", wrong.Reason))
				return nil, nil
			}
			return next, err
		},
	})
	return err
}

// examineTotals compares counts and sums with the records.
func (x *examination) examineTotals(ctx context.Context, s *store) error {
	if !slices.ContainsFunc(s.indexes, func(ix index.Index) bool { return ix.Kind.HasTotals() }) {
		return nil
	}
	if s.damaged {
		x.skipTotals(s, "records are damaged, or cannot be read: they cannot be counted")
		return nil
	}
	t := &totals{store: s, groups: map[string]index.Total{}}
	whole, err := x.sumRecords(ctx, t)
	if err != nil && !isTooSlow(err) {
		return err
	}
	if t.tooLarge || !whole {
		x.skipTotals(s, "there are too many records to count them at one version, or too many groups")
	}
	return nil
}

func (x *examination) skipTotals(s *store, reason string) {
	for i := range s.indexes {
		if s.indexes[i].Kind.HasTotals() {
			x.add(s.entryFinding("index/not-compared", &s.indexes[i], nil, nil, "%s", reason))
		}
	}
}

// sumRecords adds up the records, and compares. All of it is of one version; where nothing
// writes it takes many transactions. It reports whether everything was compared.
func (x *examination) sumRecords(ctx context.Context, t *totals) (whole bool, err error) {
	if !x.options.Exclusive {
		err := x.read(ctx, func(b *batch) error { return t.sumAtOnce(ctx, b) })
		return err == nil, err
	}
	whole, err = x.eachRecord(ctx, t.store, func(b *batch, r *record) awaitFunc {
		return func(context.Context) error {
			b.then(func() { t.addRecord(r) })
			return nil
		}
	})
	for i := range t.indexes {
		if err != nil || !whole || t.tooLarge {
			return false, err
		}
		if t.indexes[i].Kind.HasTotals() {
			whole, err = x.compareTotals(ctx, t, i)
		}
	}
	return whole, err
}

// compareTotals compares the counts or sums of an index with what was added up.
func (x *examination) compareTotals(ctx context.Context, t *totals, i int) (whole bool, err error) {
	r := index.Bounds{}.Range(t.indexes[i].Prefix)
	whole, err = x.eachStorePair(ctx, t.store, r, func(b *batch, pair kv.KeyValue) awaitFunc {
		return func(context.Context) error {
			b.keys++
			b.then(func() { t.compare(b, i, pair) })
			return nil
		}
	})
	if err != nil || !whole {
		return false, err
	}
	return true, x.read(ctx, func(b *batch) error { t.compareMissing(b, i); return nil })
}

// examineVersions compares the indexes of versions with the records: each record has a
// version, each version its entry, each entry its version.
func (x *examination) examineVersions(ctx context.Context, s *store) error {
	for _, entry := range s.catalog.All() {
		name := entry.KeyName
		if i := s.indexOf(name); i < 0 || s.indexes[i].Kind != index.Version {
			continue
		}
		for _, pass := range []struct {
			keys    kv.KeyRange
			compare func(*batch, *index.Index, kv.KeyValue) awaitFunc
		}{
			{s.below(letterRecord, s.typ), s.compareRecordVersion},
			{s.below(letterVersion, name), s.compareVersion},
			{s.below(letterEntry, name), s.compareVersionEntry},
		} {
			_, err := x.eachStorePair(ctx, s, pass.keys, func(b *batch, pair kv.KeyValue) awaitFunc {
				if i := s.indexOf(name); i >= 0 {
					return pass.compare(b, &s.indexes[i], pair)
				}
				return nothing
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// totals are what the records of a store add up to.
type totals struct {
	*store
	groups   map[string]index.Total // by the key of the entry
	size     int                    // bytes of the keys
	tooLarge bool
}

// The bounds of counts and sums that are compared: the bytes of records that are read at
// one version while programs write, as the engine estimates them and as they are, and those of
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
	b.report(t.entryFinding("index/wrong-"+string(ix.Kind), ix, bytes.Clone(key), nil, "it says %v, the records make %v", ix.PadTotal(value), want))
}
