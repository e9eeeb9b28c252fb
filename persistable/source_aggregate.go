// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// GroupCount is a group of records and the number of records in it.
type GroupCount[G any] struct {
	Group G // the value that the records have in common; of several fields, a struct
	Count int64
}

// GroupSum is a group of records and the sum of one field of theirs.
type GroupSum[G, S any] struct {
	Group G // the value that the records have in common; of several fields, a struct
	Sum   S
}

// groupValue returns the stored count or sum of the group with the given packed
// values; nil where there is none. It reads one key, in one round. In a transaction
// that writes it sees the transaction's own writes, and conflicts with all others
// that change the group.
func (s source) groupValue(ctx context.Context, i int, group []byte) (value []byte, err error) {
	ctx, o := s.begin(ctx, "Aggregate", i)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Aggregate", nil, nil, &err)
	if err := s.checkEntries(i); err != nil {
		return nil, err
	}
	err = s.runRead(ctx, func(t *transaction) error {
		sc := getScratch()
		defer sc.release()
		l := lookup{place: s.place, t: t, sc: sc, index: i, suffix: group}
		err := l.run(ctx)
		if value = nil; l.store != nil {
			value = l.value
		}
		return err
	})
	return value, err
}

// count returns the number of records in a group of the schema's i-th index.
func (s source) count(ctx context.Context, i int, group []byte) (int64, error) {
	value, err := s.groupValue(ctx, i, group)
	if err != nil {
		return 0, err
	}
	n, err := index.ReadCount(value)
	return n, s.damagedGroup(i, group, err)
}

// sum returns the sum of a group of the schema's i-th index.
func (s source) sum(ctx context.Context, i int, group []byte) (index.Amount, error) {
	value, err := s.groupValue(ctx, i, group)
	if err != nil {
		return index.Amount{}, err
	}
	sum, err := index.ReadAmount(value)
	return sum, s.damagedGroup(i, group, err)
}

// damagedGroup turns the error of a stored value into one of this package.
func (s *source) damagedGroup(i int, group []byte, err error) error {
	if err == nil {
		return nil
	}
	d := &s.record.Indexes[i]
	return s.record.indexError(&index.EntryError{Definition: d, Key: append(d.AppendPrefix(nil), group...), Reason: "the value is damaged", Err: err})
}

// overflow is the error of a sum of the schema's i-th index that is too large.
func (s *source) overflow(i int, sum index.Amount) error {
	return sentinel.Mark(ErrOverflow, fmt.Errorf("persistable: %s: the sum of %s is %v, which does not fit into 64 bits", s.record.Type, s.record.Indexes[i].Of, sum.Big()))
}

// groups returns the packed values and the stored value of each group of the schema's
// i-th index, in the order of the values, as one version has them; where that takes
// longer than a version can be read, as Slice does.
func (s source) groups(ctx context.Context, i int) (all []erased.Group, err error) {
	ctx, o := s.begin(ctx, "Aggregates", i)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Aggregates", nil, nil, &err)
	if err := s.checkEntries(i); err != nil {
		return nil, err
	}
	q := query{source: s, plan: plan{Index: i}, whole: true}
	err = q.readOneVersion(ctx, cursor{}, func() { all = nil }, func(t *transaction, c *cursor) error {
		o, err := t.openStore(ctx, q.place)
		if err != nil || o == nil || c.done {
			return err
		}
		if err := q.record.checkReadable(o, i); err != nil {
			return err
		}
		r := q.keyRange(q.plan, scan.EntriesOf(&o.indexes[i]), c)
		for pairs, err := range r.Batches(ctx, &t.Transaction) {
			if err != nil {
				return err
			}
			for _, pair := range pairs {
				c.movePast(r.Position(pair.Key))
				all = append(all, erased.Group{Values: slices.Clone(r.Suffix(pair.Key)), Value: pair.Value})
			}
		}
		return nil
	})
	return all, err
}

// extreme returns the least value, or the greatest, that the field after those of
// group has in the schema's i-th index, which is one of values: a tuple element. It
// is nil if no record of the group has a value; null is none. It reads one entry, or
// one of each shard.
func (s source) extreme(ctx context.Context, i int, group []byte, greatest bool) (element []byte, err error) {
	ctx, o := s.begin(ctx, "Extreme", i)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Extreme", nil, nil, &err)
	if err := s.checkEntries(i); err != nil {
		return nil, err
	}
	d := &s.record.Indexes[i]
	descending := d.IsDescending(countElements(group))
	bounds := index.Bounds{}.Equal(group)
	if null := tuple.AppendNil(nil); descending {
		bounds = bounds.Before(index.Descend(null, 0))
	} else {
		bounds = bounds.After(null)
	}
	q := query{source: s, plan: plan{Index: i, Bounds: bounds}, reverse: greatest != descending, limit: 1}
	var suffix []byte
	err = q.readOneVersion(ctx, cursor{limit: 1}, func() { suffix = nil }, func(t *transaction, c *cursor) error {
		for _, err := range q.keys(ctx, t, c) {
			if err != nil {
				return err
			}
			suffix = slices.Clone(c.position)
		}
		return nil
	})
	if err != nil || suffix == nil {
		return nil, err
	}
	element, err = firstElement(suffix[len(group):], descending)
	return element, s.damagedGroup(i, suffix, err)
}

// firstElement returns the element that b begins with, in ascending order.
func firstElement(b []byte, descending bool) ([]byte, error) {
	if descending {
		element, _, err := index.ReadDescended(nil, b)
		return element, err
	}
	rest, err := tuple.Skip(b)
	return b[:len(b)-len(rest)], err
}

// countElements returns the number of packed elements.
func countElements(packed []byte) (n int) {
	for len(packed) > 0 {
		rest, err := tuple.Skip(packed)
		if err != nil {
			return n
		}
		packed = rest
		n++
	}
	return n
}

// The records of a type that has a field with the option deleted stay where they are when they are
// deleted: Delete sets the field. A store leaves such records out, and its indexes do, because that is
// a part of their conditions. A store of WithDeleted has them.

// hidden returns how to tell the records that the source leaves out; nil if it leaves out none.
func (s *source) hidden() *erased.Deletion {
	if s.record == nil || s.withDeleted {
		return nil
	}
	return s.record.Deletion
}

// hides reports whether the source leaves a record out, because that is deleted; nil is none.
func (s *source) hides(v any) bool {
	d := s.hidden()
	return d != nil && v != nil && d.Is(v)
}

// newWrite returns a write of the source.
func (s *source) newWrite(t *transaction, sc *scratch, how putOptions) write {
	return write{record: s.record, putOptions: how, t: t, place: s.place, sc: sc, withDeleted: s.withDeleted}
}

// checkRecords returns an error if the i-th index leaves out deleted records, and the source has them.
func (s *source) checkRecords(i int) error {
	if d := s.record.Deletion; d == nil || i == byID || !s.withDeleted || !d.IsLeftOut(&s.record.Indexes[i]) {
		return nil
	}
	return fmt.Errorf("persistable: %s: the index %s leaves deleted records out, so the store of WithDeleted cannot use it: give the index the option withdeleted, or ask the store itself",
		s.record.Type, s.record.Indexes[i].Name)
}

// checkEntries returns an error if the i-th index does not have just the records that the source has: what
// is told by its entries alone, such as a count, would be wrong.
func (s *source) checkEntries(i int) error {
	if err := s.checkUsable(); err != nil {
		return err
	}
	if d := s.hidden(); d != nil && !d.IsLeftOut(&s.record.Indexes[i]) {
		return fmt.Errorf("persistable: %s: the index %s has deleted records, too, which the store leaves out: ask the store of WithDeleted, or remove the option withdeleted of the index",
			s.record.Type, s.record.Indexes[i].Name)
	}
	return s.checkRecords(i)
}
