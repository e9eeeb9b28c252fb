// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// extreme returns the least value, or the greatest, that the field behind those of
// group has in the schema's i-th index, which is one of values: a tuple element. It
// is nil if no record of the group has a value; null is none. It reads one entry, or
// one of each shard.
func (s source) extreme(ctx context.Context, i int, group []byte, greatest bool) (element []byte, err error) {
	ctx, o := s.begin(ctx, "Extreme", i)
	defer o.finish(&err)
	if err := s.checkUsable(); err != nil {
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
