// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/kv"
)

// examineEntries checks that each entry has a record that has it.
func (x *examination) examineEntries(ctx context.Context, s *store) error {
	for _, entry := range s.header.Indexes {
		name := entry.KeyName
		if i := s.indexOf(name); i < 0 || !s.indexes[i].Kind.HasEntries() {
			continue
		}
		r := s.below(letterEntry, name)
		err := x.eachStoreBatch(ctx, s, r, func(tx kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error {
			i := s.indexOf(name)
			if i < 0 || !s.indexes[i].Kind.HasEntries() {
				return nil
			}
			return s.compareEntries(ctx, tx, b, i, pairs)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// examineRanks compares the counts of rank indexes with their entries.
func (x *examination) examineRanks(ctx context.Context, s *store) error {
	for _, entry := range s.header.Indexes {
		if err := x.examineRank(ctx, s, entry.KeyName); err != nil {
			return err
		}
	}
	return nil
}

// examineRank compares the counts of an index, if it is one of ranks, with its entries.
func (x *examination) examineRank(ctx context.Context, s *store, name string) error {
	var at rank.Position
	for done := false; !done; {
		next := at
		err := x.read(ctx, func(tx kv.ReadTransaction, b *batch) error {
			done = true
			there, err := s.exists(ctx, tx)
			if err != nil || !there {
				return err
			}
			if usable, err := s.refresh(ctx, tx); err != nil || !usable {
				return err
			}
			i := s.indexOf(name)
			if i < 0 || s.indexes[i].Kind != index.Rank {
				return nil
			}
			ix := &s.indexes[i]
			next, done, err = ix.Ranks().Verify(ctx, tx, at, batchPairs)
			var wrong *rank.CountError
			if errors.As(err, &wrong) {
				done = true
				b.findings = append(b.findings, s.entryFinding("index/wrong-rank", ix, wrong.Key, nil, "%s", wrong.Reason))
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}

// examineRecords checks that each record can be read, and has its entries.
func (x *examination) examineRecords(ctx context.Context, s *store) error {
	return x.eachRecordBatch(ctx, s, func(tx kv.ReadTransaction, b *batch, records []*record) error {
		c := comparison{store: s, tx: tx, batch: b}
		for _, r := range records {
			c.add(r)
		}
		return c.await(ctx)
	})
}

// eachRecordBatch calls fn with the records of a store, in batches of one transaction each.
func (x *examination) eachRecordBatch(ctx context.Context, s *store, fn func(tx kv.ReadTransaction, b *batch, records []*record) error) error {
	r := s.below(letterRecord, s.typ)
	for more := true; more; {
		var next []byte
		err := x.read(ctx, func(tx kv.ReadTransaction, b *batch) error {
			more = false
			there, err := s.exists(ctx, tx)
			if err != nil || !there {
				return err
			}
			usable, err := s.refresh(ctx, tx)
			if err != nil || !usable {
				return err
			}
			records, follow, err := s.readRecords(ctx, tx, b, r)
			if err != nil {
				return err
			}
			more, next = follow != nil, follow
			b.records += int64(len(records))
			for _, r := range records {
				b.bytes += r.size()
			}
			return fn(tx, b, records)
		})
		if err != nil {
			return err
		}
		r.Begin = next
	}
	return nil
}

// examineTotals compares counts and sums with the records.
func (x *examination) examineTotals(ctx context.Context, s *store) error {
	if !slices.ContainsFunc(s.indexes, func(ix index.Index) bool { return ix.Kind.HasTotals() }) {
		return nil
	}
	if s.damaged {
		x.skipTotals(s, "records are damaged, which cannot be counted")
		return nil
	}
	t := &totals{store: s, groups: map[string]index.Total{}}
	err := x.sumRecords(ctx, t)
	var slow *kv.RetryError
	switch {
	case errors.As(err, &slow):
		t.tooLarge = true
	case err != nil:
		return err
	}
	if t.tooLarge {
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
// writes it takes many transactions.
func (x *examination) sumRecords(ctx context.Context, t *totals) error {
	if !x.options.Exclusive {
		return x.read(ctx, func(tx kv.ReadTransaction, b *batch) error { return t.sumAtOnce(ctx, tx, b) })
	}
	report, usage := x.report, x.usage
	err := x.eachRecordBatch(ctx, t.store, func(_ kv.ReadTransaction, b *batch, records []*record) error {
		b.then(func() { t.addRecords(records) })
		return nil
	})
	x.report, x.usage = report, usage // counted before
	if err != nil || t.tooLarge {
		return err
	}
	for i := range t.indexes {
		if !t.indexes[i].Kind.HasTotals() {
			continue
		}
		r := index.Bounds{}.Range(t.indexes[i].Prefix)
		err := x.eachStoreBatch(ctx, t.store, r, func(_ kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error {
			b.then(func() { t.compare(b, i, pairs) })
			return nil
		})
		if err != nil {
			return err
		}
		if err := x.read(ctx, func(_ kv.ReadTransaction, b *batch) error { t.compareMissing(b, i); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// examineVersions compares the indexes of versions with the records: each record has a
// version, each version its entry, each entry its version.
func (x *examination) examineVersions(ctx context.Context, s *store) error {
	for _, entry := range s.header.Indexes {
		name := entry.KeyName
		if i := s.indexOf(name); i < 0 || s.indexes[i].Kind != index.Version {
			continue
		}
		for _, pass := range []struct {
			keys    kv.KeyRange
			compare func(context.Context, kv.ReadTransaction, *batch, *index.Index, []kv.KeyValue) error
		}{
			{s.below(letterRecord, s.typ), s.compareRecordVersions},
			{s.below(letterVersion, name), s.compareVersions},
			{s.below(letterEntry, name), s.compareVersionEntries},
		} {
			err := x.eachStoreBatch(ctx, s, pass.keys, func(tx kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error {
				i := s.indexOf(name)
				if i < 0 {
					return nil
				}
				return pass.compare(ctx, tx, b, &s.indexes[i], pairs)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
