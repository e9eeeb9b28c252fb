// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// groupValue returns the stored count or sum of a group, whose packed values are
// given; nil where there is none. It reads one key, in one round. In a transaction
// that writes it sees the transaction's own writes, and conflicts with all others
// that change the group.
func (s source) groupValue(ctx context.Context, i int, group []byte) (value []byte, err error) {
	ctx, o := s.begin(ctx, "Aggregate", i)
	defer o.finish(&err)
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
	return &OverflowError{Type: s.record.Type, Field: s.record.Indexes[i].Of, Sum: sum.Big()}
}

// groups returns the packed values and the stored value of each group of the schema's
// i-th index, in the order of the values, as one version has them; where that takes
// longer than a version can be read, as Slice does.
func (s source) groups(ctx context.Context, i int) (all []erased.Group, err error) {
	ctx, o := s.begin(ctx, "Aggregates", i)
	defer o.finish(&err)
	q := query{source: s, plan: plan{Index: i}}
	err = q.readOneVersion(ctx, cursor{}, func() { all = nil }, func(t *transaction, c *cursor) error {
		o, err := t.openStore(ctx, q.place)
		if err != nil || o == nil || c.done {
			return err
		}
		if err := q.place.checkReadable(o, i); err != nil {
			return err
		}
		r := q.keyRange(q.plan, scan.EntriesOf(&o.indexes[i]), c)
		for pairs, err := range r.Batches(ctx, &t.Transaction) {
			if err != nil {
				return err
			}
			for _, pair := range pairs {
				c.moveBehind(r.Position(pair.Key))
				all = append(all, erased.Group{Values: slices.Clone(r.Suffix(pair.Key)), Value: pair.Value})
			}
		}
		return nil
	})
	return all, err
}
