// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"context"
	"math"

	"github.com/kazahana-db/kazahana/kv"
)

// Nth returns the element that has n elements between begin, included, and itself: for
// n = 0 the first one not before begin. It returns nil if there are no more than n
// elements, or if n is negative. An empty begin is the beginning of the list.
//
// Cost: one round of reads if n is about 16 or less, and one more for each time that n
// is another 16 times greater: at most six ([Top] + 1), rarely more. In a
// [kv.Transaction] the commit conflicts with concurrent changes between
// begin and the element, and with some behind it that have a finger in common with it.
func (l *List) Nth(ctx context.Context, tx kv.ReadTransaction, begin []byte, n int64) ([]byte, error) {
	if n < 0 {
		return nil, nil
	}
	s := &selection{list: l, tx: tx, left: n}
	levels := s.start(begin)
	for level, c := range levels {
		f, found, err := s.walk(ctx, c, level, Top)
		switch {
		case err != nil || !found:
			return nil, err
		case level == Top || Height(f.element) <= level:
			return s.descend(ctx, f, level)
		}
	}
	return nil, nil
}

// selection goes forward along the elements until it comes to the next higher finger,
// then along the fingers of that level, and so on until a finger's count passes what is
// left; then it goes down level by level behind that finger.
type selection struct {
	list *List
	tx   kv.ReadTransaction
	left int64 // the number of elements that are still to be passed
}

// start starts the reads of all levels behind begin, in one round.
func (s *selection) start(begin []byte) (levels [Top + 1]*cursor) {
	for level := range levels {
		r := s.list.from(level, begin)
		if level > 0 && len(begin) == 0 {
			r = s.list.after(level, nil)
		}
		levels[level] = s.list.start(quiet(s.tx), level, r, false, lookupRun)
	}
	return levels
}

// walk passes fingers until one whose count passes what is left, or one that is higher
// than the level, if the level is below the limit. It returns false behind the last one.
func (s *selection) walk(ctx context.Context, c *cursor, level, limit int) (f finger, found bool, err error) {
	r := kv.KeyRange{Begin: c.rest.Begin, End: c.rest.End}
	for {
		f, found, err = c.next(ctx)
		if err != nil || !found {
			break
		}
		if level < limit && Height(f.element) > level || f.count > s.left {
			r.End = s.list.behind(level, f.element)
			break
		}
		s.left -= f.count
	}
	if tx, writes := s.tx.(kv.Transaction); writes && err == nil {
		err = tx.AddReadConflictRange(r)
	}
	return f, found, err
}

// descend returns the element that is left elements behind a finger.
func (s *selection) descend(ctx context.Context, f finger, level int) ([]byte, error) {
	for level > 0 {
		level--
		c := s.list.start(quiet(s.tx), level, s.list.from(level, f.element), false, lookupRun)
		below, found, err := s.walk(ctx, c, level, 0)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, &CountError{Key: s.list.key(level+1, f.element), Reason: "it counts more elements than there are"}
		}
		f = below
	}
	return f.element, nil
}

// Percentile returns the element at the p-th percentile of a range by the nearest-rank
// method: the least element such that at least p percent of the elements of the range are
// not behind it. p is from 0, the first element, to 100, the last one; beyond that it is
// taken as 0 or 100. It returns nil if the range is empty. The range is that of
// [List.Count].
//
// Cost: the rounds of Count, then those of [List.Nth]. Conflicts are those of both.
func (l *List) Percentile(ctx context.Context, tx kv.ReadTransaction, begin, end []byte, p float64) ([]byte, error) {
	n, err := l.Count(ctx, tx, begin, end)
	if err != nil || n == 0 {
		return nil, err
	}
	return l.Nth(ctx, tx, begin, nearestRank(n, p))
}

// nearestRank returns the index of the element at a percentile of n elements. A
// product that rounding has put just above a whole number counts as that number.
func nearestRank(n int64, p float64) int64 {
	at := math.Ceil(p / 100 * float64(n) * (1 - 1e-12))
	return min(max(int64(at), 1), n) - 1
}
