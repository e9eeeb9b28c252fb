// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// List is the work list of a store: the prefix ("S", type, "build") of its keys.
//
//	prefix                    = (1, (key name, layout)…): the indexes that are built
//	prefix, "range", begin…   = a [worklist.Range] of the keys of records
//
// The ranges cover all keys of records. The list exists from the transaction that
// brings its indexes to the state building to the one that ends that.
type List struct{ Prefix []byte }

// Member is an index that a list builds.
type Member struct{ KeyName, Layout string }

// MemberOf returns an index as a member of a list.
func MemberOf(d *index.Definition) Member { return Member{d.KeyName(), d.Layout()} }

const listFormat = 1

// lastEnd is after all keys of records.
var lastEnd = []byte{0xff}

// ranges returns the ranges of the list, the first of which begins at no bytes.
func (l List) ranges() worklist.List {
	return worklist.List{Prefix: tuple.AppendString(slices.Clone(l.Prefix), "range")}
}

// clear removes the list.
func (l List) clear(tx kv.Transaction) {
	tx.Clear(l.Prefix)
	tx.ClearRange(l.ranges().Keys())
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
		return nil, damage(l.Prefix)
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

// explain says what to do about a range that is damaged.
func explain(err error) error {
	var damaged *worklist.DamagedError
	if errors.As(err, &damaged) {
		return damage(damaged.Key)
	}
	return err
}

func damage(key []byte) error {
	return fmt.Errorf("build: the work list of an index build is damaged at the key %q: run Indexes().Rebuild for each index that is not readable", key)
}

var errMembers = errors.New("the value does not name the indexes of a work list")

// DecodeMembers reads the head of a list: the indexes that it builds.
func DecodeMembers(value []byte) (all []Member, err error) {
	_, err = newer.ReadFormat(value, listFormat)
	if errors.Is(err, newer.Err) {
		return nil, err
	}
	t, err := tuple.Unpack(value)
	if err != nil || len(t) < 2 || t[0] != int64(listFormat) {
		return nil, errMembers
	}
	for _, element := range t[1:] {
		pair, ok := element.(tuple.Tuple)
		if !ok || len(pair) != 2 {
			return nil, errMembers
		}
		name, ok1 := pair[0].(string)
		layout, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			return nil, errMembers
		}
		all = append(all, Member{name, layout})
	}
	return all, nil
}

// Check is the read of whether a build has done a record.
type Check struct {
	list   List
	suffix []byte
	read   kv.RangeResult
}

// StartCheck starts the read for the record that has the key suffix after the prefix of
// records. The read is a snapshot: it never conflicts.
func (l List) StartCheck(tx kv.ReadTransaction, suffix []byte) Check {
	// Ranges begin at most worklist.MaxBegin bytes from the prefix: a longer key is in the range
	// of its first bytes.
	ranges := l.ranges()
	last := ranges.Key(suffix[:min(len(suffix), worklist.MaxBegin+1)])
	r := kv.KeyRange{Begin: ranges.Prefix, End: kv.Successor(last)}
	return Check{l, suffix, tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})}
}

// Wait reports whether the record is done: whether writes maintain its entries in the
// indexes that count each record once.
func (c *Check) Wait(ctx context.Context) (done bool, err error) {
	pairs, err := c.read.Slice(ctx)
	if err != nil {
		return false, err
	}
	if len(pairs) == 0 {
		return false, damage(c.list.Prefix)
	}
	r, err := c.list.ranges().Decode(pairs[0])
	if err != nil {
		return false, explain(err)
	}
	if bytes.Compare(c.suffix, r.End) >= 0 {
		return false, damage(pairs[0].Key)
	}
	return bytes.Compare(c.suffix, r.Next) < 0, nil
}
