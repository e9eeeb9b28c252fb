// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// readViolation reads what recordViolation wrote.
func (ix *Index) readViolation(pair kv.KeyValue) (Violation, error) {
	var parts [3][]byte
	rest := pair.Value
	for i := range parts {
		var err error
		if parts[i], rest, err = tuple.ReadBytes(rest); err != nil {
			return Violation{}, &EntryError{ix.Definition, slices.Clone(pair.Key), "the violation is damaged", err}
		}
	}
	return Violation{slices.Concat(ix.Prefix, parts[0]), parts[1], parts[2], pair.Key}, nil
}

// Violations reads up to limit violations behind a key that an earlier call
// returned (nil at first), and returns the key to go on from, nil at the end. A key of
// another directory, which was at the path before, has no place here: the list begins anew.
func (ix *Index) Violations(ctx context.Context, tx kv.ReadTransaction, after []byte, limit int) ([]Violation, []byte, error) {
	r := Bounds{}.Range(ix.ViolationPrefix)
	if bytes.HasPrefix(after, ix.ViolationPrefix) {
		r.Begin = kv.Successor(after)
	}
	pairs, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []Violation
	for _, pair := range pairs {
		v, err := ix.readViolation(pair)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, v)
	}
	if len(pairs) < limit {
		return all, nil, nil
	}
	return all, pairs[len(pairs)-1].Key, nil
}

// Settle looks at a violation again, given the entries that its record has now
// (nil if it is gone), and removes it if it is none any more: the record has
// other values, or the owner has. It returns the owner if it still is one.
func (ix *Index) Settle(ctx context.Context, tx kv.Transaction, i int, v Violation, entries *Set, r Record) (owner []byte, err error) {
	if entries != nil && entries.Has(i, v.Key) {
		value, err := tx.Get(v.Key).Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			tx.Set(v.Key, ix.AppendValue(nil, entries.Record(i, ix, r)))
		} else if owner, _, err = SplitUnique(ix.Definition, v.Key, value); err != nil {
			return nil, err
		}
		if owner != nil && !bytes.Equal(owner, r.ID) {
			return owner, nil
		}
	}
	tx.Clear(v.at)
	return nil, nil
}
