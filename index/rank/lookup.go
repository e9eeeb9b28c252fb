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

// lookup counts what is before an element. On each level it goes back from the
// element to the first finger that is one of the next level, too. As the height of a
// finger tells that, the reads of a level need not wait for those of another.
type lookup struct {
	list   *List
	tx     kv.ReadTransaction
	levels [Top + 1]*cursor // nil: of the beginning of the list
	end    []byte           // the element; nil: the end of the list
	first  []byte           // the finger to which the level that was counted last goes back
}

// lookupRun is how many fingers of a level are read at once: five times what is
// expected until the next higher one.
const lookupRun = 80

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

// quiet returns a view whose reads add no conflict ranges of their own, because
// their batches read more than what is used.
func quiet(tx kv.ReadTransaction) kv.ReadTransaction {
	if _, writes := tx.(kv.Transaction); writes {
		return tx.Snapshot()
	}
	return tx
}

// countLevel returns how many elements there are from the level's last finger that is
// one of the next level to its last finger; on level 0, to the element itself.
func (k *lookup) countLevel(ctx context.Context, level int) (sum int64, err error) {
	if k.levels[level] == nil {
		return 0, nil
	}
	var last finger
	for n := 0; ; n++ {
		f, found, err := k.levels[level].next(ctx)
		if err != nil {
			return 0, err
		}
		if !found {
			k.first = nil
			break
		}
		if n == 0 {
			last = f
		}
		if n > 0 || level == 0 {
			sum += f.count
		}
		if level < Top && Height(f.element) > level {
			k.first = f.element
			break
		}
	}
	return sum, k.protect(level, last.element)
}

// protect makes a transaction conflict with changes of the counts of a level that were
// added up: those from k.first on, before the last finger.
func (k *lookup) protect(level int, last []byte) error {
	tx, writes := k.tx.(kv.Transaction)
	if !writes {
		return nil
	}
	r := kv.KeyRange{Begin: k.list.key(level, k.first), End: k.list.key(level, last)}
	switch {
	case level > 0:
	case k.end == nil:
		r.End = k.list.end(0)
	default:
		r.End = k.list.key(0, k.end)
	}
	if bytes.Compare(r.Begin, r.End) >= 0 {
		return nil
	}
	return tx.AddReadConflictRange(r)
}
