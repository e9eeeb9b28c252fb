// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// List is the work list of a store: the prefix ("S", type, "build") of its keys.
//
//	prefix                    = (1, (key name, layout)…): the indexes that are built
//	prefix, "range", begin…   = a [Range] of the keys of records
//
// The ranges cover all keys of records. The list exists from the transaction that
// brings its indexes to the state building to the one that ends that.
type List struct{ Prefix []byte }

// Member is an index that a list builds.
type Member struct{ KeyName, Layout string }

// MemberOf returns an index as a member of a list.
func MemberOf(d *index.Definition) Member { return Member{d.KeyName(), d.Layout()} }

const listFormat = 1

// maxBegin is the length in bytes of the longest key at which a range begins, so
// that the list's own keys stay within their limit.
const maxBegin = 1000

// lastEnd is behind all keys of records.
var lastEnd = []byte{0xff}

func (l List) rangesPrefix() []byte { return tuple.AppendString(slices.Clone(l.Prefix), "range") }

func (l List) rangeKey(begin []byte) []byte { return append(l.rangesPrefix(), begin...) }

// allKeys are the keys of all ranges, the first of which begins at no bytes.
func (l List) allKeys() kv.KeyRange {
	prefix := l.rangesPrefix()
	return kv.KeyRange{Begin: prefix, End: append(slices.Clone(prefix), 0xff)}
}

// clear removes the list.
func (l List) clear(tx kv.Transaction) {
	tx.Clear(l.Prefix)
	tx.ClearRange(l.allKeys())
}

// readMembers returns the indexes of the list; none if there is no list.
func (l List) readMembers(ctx context.Context, tx kv.ReadTransaction) ([]Member, error) {
	value, err := tx.Get(l.Prefix).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	members, err := DecodeMembers(value)
	switch {
	case errors.Is(err, newer.Err):
		return nil, fmt.Errorf("build: the work list of an index build at the key %q: %w", l.Prefix, err)
	case err != nil:
		return nil, l.damage(l.Prefix)
	}
	return members, nil
}

// Has returns a function that reports whether an index is among those that the list
// builds.
func (l List) Has(ctx context.Context, tx kv.ReadTransaction) (func(*index.Definition) bool, error) {
	members, err := l.readMembers(ctx, tx)
	return func(d *index.Definition) bool { return slices.Contains(members, MemberOf(d)) }, err
}

// writeMembers writes the head of the list.
func (l List) writeMembers(tx kv.Transaction, members []Member) error {
	t := tuple.Tuple{int64(listFormat)}
	for _, m := range members {
		t = append(t, tuple.Tuple{m.KeyName, m.Layout})
	}
	value, err := t.Pack()
	if err != nil {
		return err
	}
	tx.Set(l.Prefix, value)
	return nil
}

// readRange returns the range that begins at a key; nil if there is none.
func (l List) readRange(ctx context.Context, tx kv.ReadTransaction, begin []byte) (*Range, error) {
	key := l.rangeKey(begin)
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	return l.decode(kv.KeyValue{Key: key, Value: value})
}

func (l List) writeRange(tx kv.Transaction, r *Range) { tx.Set(l.rangeKey(r.Begin), r.encode()) }

// readRanges returns all ranges in their order.
func (l List) readRanges(ctx context.Context, tx kv.ReadTransaction) ([]Range, error) {
	pairs, err := tx.GetRange(l.allKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Range, len(pairs))
	for i, pair := range pairs {
		r, err := l.decode(pair)
		if err != nil {
			return nil, err
		}
		all[i] = *r
	}
	return all, nil
}

func (l List) decode(pair kv.KeyValue) (*Range, error) {
	r, err := DecodeRange(pair.Key[len(l.rangesPrefix()):], pair.Value)
	if err != nil {
		return nil, l.damage(pair.Key)
	}
	return r, nil
}

func (l List) damage(key []byte) error {
	return fmt.Errorf("build: the work list of an index build is damaged at the key %q: run Indexes().Rebuild for each index that is not readable", key)
}
