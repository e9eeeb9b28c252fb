// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// findBefore returns the finger of a level before the element of a change, as the
// changes that are done leave the level.
func (u *Update) findBefore(ctx context.Context, done []*change, c *change, level int) ([]byte, error) {
	f, found, err := u.nextLeft(ctx, c.before[level], level)
	if err != nil {
		return nil, err
	}
	// Nothing can come between an inserted finger and the element: what is behind the
	// finger was protected when it was counted.
	if own := insertedBefore(done, c.element, level); bytes.Compare(own, f.element) > 0 {
		return own, nil
	}
	u.protect(level, f.element, c.element)
	if found && len(f.element) > 0 {
		u.protectPresence(f.element)
	}
	return f.element, nil
}

// nextLeft returns the next finger that the update leaves, and false at the end.
func (u *Update) nextLeft(ctx context.Context, from *cursor, level int) (f finger, found bool, err error) {
	for {
		f, found, err = from.next(ctx)
		if err != nil || !found {
			return f, found, err
		}
		if own, ok := u.counts[place{level, string(f.element)}]; !ok || own.state != erased {
			return f, true, nil
		}
	}
}

// countBehind returns how many elements there are from the first finger of the level
// below that is behind the element to the next finger of the level.
func (u *Update) countBehind(ctx context.Context, done []*change, c *change, level int) (sum int64, err error) {
	below := level - 1
	bound := insertedBehind(done, c.element, level) // nil: none
	for {
		f, found, err := u.nextBehind(ctx, c, below)
		if err != nil {
			return 0, err
		}
		if !found || bound != nil && bytes.Compare(f.element, bound) > 0 {
			break
		}
		if Height(f.element) >= level {
			bound = f.element
			u.protectPresence(bound)
			break
		}
		sum += f.count + u.counts.added(below, f.element)
	}
	u.protect(below, c.element, bound)
	return sum + u.insertedCounts(done, c.element, bound, below), nil
}

// nextBehind is nextLeft on level 0, too, where erased elements have no counts.
func (u *Update) nextBehind(ctx context.Context, c *change, level int) (f finger, found bool, err error) {
	for {
		f, found, err = u.nextLeft(ctx, c.behind[level], level)
		if err != nil || !found || level > 0 || !u.isErased(f.element) {
			return f, found, err
		}
	}
}

func (u *Update) isErased(element []byte) bool {
	for _, c := range u.changes {
		if c.erase && bytes.Equal(c.element, element) {
			return true
		}
	}
	return false
}

// insertedBefore returns the last inserted finger of a level before an element.
func insertedBefore(done []*change, element []byte, level int) (last []byte) {
	for _, c := range done {
		if c.isInserted(level) && bytes.Compare(c.element, element) < 0 && bytes.Compare(c.element, last) > 0 {
			last = c.element
		}
	}
	return last
}

// insertedBehind returns the first inserted finger of a level behind an element.
func insertedBehind(done []*change, element []byte, level int) (first []byte) {
	for _, c := range done {
		if c.isInserted(level) && bytes.Compare(c.element, element) > 0 && (first == nil || bytes.Compare(c.element, first) < 0) {
			first = c.element
		}
	}
	return first
}

// insertedCounts returns the counts of the inserted fingers of a level between two elements.
func (u *Update) insertedCounts(done []*change, element, bound []byte, level int) (sum int64) {
	for _, c := range done {
		switch {
		case !c.isInserted(level) || bytes.Compare(c.element, element) <= 0:
		case bound != nil && bytes.Compare(c.element, bound) >= 0:
		case level == 0:
			sum++
		default:
			sum += u.counts.at(level, c.element).n
		}
	}
	return sum
}

// protect makes the transaction conflict with changes of a level's keys between two
// elements, both excluded; a nil end is the end of the level.
func (u *Update) protect(level int, begin, end []byte) {
	r := u.list.after(level, begin)
	if end != nil {
		r.End = u.list.key(level, end)
	}
	if bytes.Compare(r.Begin, r.End) < 0 {
		u.ranges = append(u.ranges, r)
	}
}

// protectPresence makes the transaction conflict with the erasure of an element.
func (u *Update) protectPresence(element []byte) {
	key := u.list.key(0, element)
	u.ranges = append(u.ranges, kv.KeyRange{Begin: key, End: kv.Successor(key)})
}
