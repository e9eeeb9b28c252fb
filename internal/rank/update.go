// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Update erases and inserts elements in one transaction. Its reads are one round
// (a further one, rarely, if an inserted finger has more than 64 fingers before
// the next higher one).
type Update struct {
	list    *List
	tx      kv.Transaction
	changes []*change
	counts  counts
	ranges  []kv.KeyRange // read conflict ranges
}

// change is an element that is erased or inserted.
type change struct {
	element []byte
	height  int
	erase   bool
	void    bool                       // there is nothing to do: it is absent already, or present
	present kv.Future[[]byte]          // its key of level 0
	before  [Top + 1]*cursor           // from level 1 on: the fingers before it
	behind  [Top + 1]*cursor           // of an inserted finger, by the level below: what follows it
	own     [Top + 1]kv.Future[[]byte] // of an erased finger: its counts
}

// runLength is how many fingers before the next higher one are read at once: more than
// four times what is expected.
const runLength = 64

func (u *Update) startReads(view kv.ReadTransaction, c *change) {
	l := u.list
	c.present = u.tx.Get(l.key(0, c.element))
	for level := 1; level <= Top; level++ {
		c.before[level] = l.start(view, level, l.before(level, c.element), true, 1+u.erasedBefore(level, c.element))
		switch {
		case level > c.height:
		case c.erase:
			c.own[level] = u.tx.Get(l.key(level, c.element))
		default:
			c.behind[level-1] = l.start(view, level-1, l.after(level-1, c.element), false, runLength)
		}
	}
}

// erasedBefore returns how many fingers of a level the update erases before an element:
// a cursor that goes back skips them.
func (u *Update) erasedBefore(level int, element []byte) (n int) {
	for _, c := range u.changes {
		if c.erase && c.height >= level && bytes.Compare(c.element, element) < 0 {
			n++
		}
	}
	return n
}

// Plan waits for the reads, computes what Write writes, and adds the read conflict
// ranges. Elements to erase that are not in the list, and elements to insert that are,
// are left out: an update that runs twice has no further effect.
func (u *Update) Plan(ctx context.Context) error {
	for _, c := range u.changes {
		value, err := c.present.Get(ctx)
		if err != nil {
			return err
		}
		c.void = c.erase == (value == nil)
	}
	for i, c := range u.changes {
		if c.void {
			continue
		}
		if err := u.planChange(ctx, u.changes[:i], c); err != nil {
			return err
		}
	}
	for _, r := range u.ranges {
		if err := u.tx.AddReadConflictRange(r); err != nil {
			return err
		}
	}
	return nil
}

func (u *Update) planChange(ctx context.Context, done []*change, c *change) error {
	if c.erase {
		return u.planErase(ctx, done, c)
	}
	return u.planInsert(ctx, done, c)
}

// planErase gives the counts of the element's fingers, less one, to the fingers
// before it.
func (u *Update) planErase(ctx context.Context, done []*change, c *change) error {
	for level := 1; level <= Top; level++ {
		before, err := u.findBefore(ctx, done, c, level)
		if err != nil {
			return err
		}
		moved := int64(0)
		if level <= c.height {
			if moved, err = u.takeCount(ctx, c, level); err != nil {
				return err
			}
		}
		u.counts.at(level, before).add(moved - 1)
	}
	return nil
}

// takeCount returns the count of an erased finger, with what this update added to it.
func (u *Update) takeCount(ctx context.Context, c *change, level int) (int64, error) {
	pair := kv.KeyValue{Key: u.list.key(level, c.element)}
	var err error
	if pair.Value, err = c.own[level].Get(ctx); err != nil {
		return 0, err
	}
	stored, err := readCount(pair)
	own := u.counts.at(level, c.element)
	own.state = erased
	return stored + own.n, err
}

// planInsert adds one to the counts before the element, and splits those of which the
// element is a finger.
func (u *Update) planInsert(ctx context.Context, done []*change, c *change) error {
	own := int64(1) // the elements from this one to the next finger of the level
	for level := 1; level <= Top; level++ {
		before, err := u.findBefore(ctx, done, c, level)
		if err != nil {
			return err
		}
		moved := int64(0)
		if level <= c.height {
			behind, err := u.countAfter(ctx, done, c, level)
			if err != nil {
				return err
			}
			own += behind
			*u.counts.at(level, c.element) = count{state: inserted, n: own}
			moved = own
		}
		u.counts.at(level, before).add(1 - moved)
	}
	return nil
}

// Write writes. It cannot fail, so that a transaction has all of an update or nothing.
func (u *Update) Write() {
	for _, c := range u.changes {
		switch {
		case c.void:
		case c.erase:
			u.tx.Clear(u.list.key(0, c.element))
		default:
			u.tx.Set(u.list.key(0, c.element), nil)
		}
	}
	u.counts.write(u.tx, u.list)
}

func (c *change) isInserted(level int) bool { return !c.erase && !c.void && c.height >= level }

// findBefore returns the finger of a level before the element of a change, as the
// changes that are done leave the level.
func (u *Update) findBefore(ctx context.Context, done []*change, c *change, level int) ([]byte, error) {
	f, found, err := u.nextLeft(ctx, c.before[level], level)
	if err != nil {
		return nil, err
	}
	// Nothing can come between an inserted finger and the element: what follows the
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

// countAfter returns how many elements there are from the first finger of the level
// below that comes after the element to the next finger of the level.
func (u *Update) countAfter(ctx context.Context, done []*change, c *change, level int) (sum int64, err error) {
	below := level - 1
	bound := insertedAfter(done, c.element, level) // nil: none
	for {
		f, found, err := u.nextFrom(ctx, c, below)
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

// nextFrom is nextLeft on level 0, too, where erased elements have no counts.
func (u *Update) nextFrom(ctx context.Context, c *change, level int) (f finger, found bool, err error) {
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

// insertedAfter returns the first inserted finger of a level after an element.
func insertedAfter(done []*change, element []byte, level int) (first []byte) {
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
