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
	behind  [Top + 1]*cursor           // of an inserted finger, by the level below: what is behind it
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
			behind, err := u.countBehind(ctx, done, c, level)
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
