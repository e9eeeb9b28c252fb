// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Rank returns how many elements are before the element, which need not be in the
// list: zero for the first. The element is not empty.
//
// Cost: one round of reads, of up to 500 pairs; in three of a hundred calls a second one. In a
// [kv.Transaction] the commit conflicts with concurrent changes of what
// is before the element, and with no others.
func (l *List) Rank(ctx context.Context, tx kv.ReadTransaction, element []byte) (int64, error) {
	return l.Count(ctx, tx, nil, element)
}

// Count returns how many elements are in a range, begin included and end excluded. An
// empty begin is the beginning of the list, a nil end its end.
//
// Cost: one round of reads, of up to 1,000 pairs; in six of a hundred calls a second one. In a
// [kv.Transaction] the commit conflicts with concurrent changes in the range, and
// with those before it that are behind the first finger which both ends have in common.
func (l *List) Count(ctx context.Context, tx kv.ReadTransaction, begin, end []byte) (n int64, err error) {
	if end != nil && bytes.Compare(begin, end) >= 0 {
		return 0, nil
	}
	left := &lookup{list: l}
	if len(begin) > 0 {
		left = l.lookUp(tx, begin)
	}
	right := l.lookUp(tx, end)
	for level := range Top + 1 {
		before, err := left.countLevel(ctx, level)
		if err != nil {
			return 0, err
		}
		all, err := right.countLevel(ctx, level)
		if err != nil {
			return 0, err
		}
		if n += all - before; bytes.Equal(left.first, right.first) {
			break // what is before is the same for both
		}
	}
	return n, nil
}

// lookUp starts the reads.
func (l *List) lookUp(tx kv.ReadTransaction, element []byte) *lookup {
	k := &lookup{list: l, tx: tx, end: element}
	for level := range k.levels {
		r := kv.KeyRange{Begin: l.key(level, nil), End: l.end(level)}
		if element != nil {
			r.End = l.key(level, element)
		}
		k.levels[level] = l.start(quiet(tx), level, r, true, lookupRun)
	}
	return k
}
