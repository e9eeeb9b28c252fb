// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

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
