// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// finger is a finger of a level, or an element of level 0, which has the count 1.
type finger struct {
	element []byte // empty: the one with which a level begins
	count   int64
}

// cursor reads the fingers of a level one after the other. Its first batch is
// read from the moment at which it is made, so that several cursors share a round.
type cursor struct {
	reader  kv.ReadTransaction
	level   int
	skip    int // the length of what keys of the level begin with
	rest    kv.KeyRange
	reverse bool
	limit   int // pairs in the batch under way
	batch   kv.RangeResult
	pending bool // whether the batch was not taken yet
	pairs   []kv.KeyValue
}

// growth is how much larger the next batch of a cursor is.
const growth = 4

func (c *cursor) fetch() {
	c.batch = c.reader.GetRange(c.rest.Selectors(), kv.RangeOptions{Limit: c.limit, Reverse: c.reverse, Mode: kv.ModeExact})
	c.pending = true
}

// next returns the next finger, and false at the end.
func (c *cursor) next(ctx context.Context) (f finger, found bool, err error) {
	if len(c.pairs) == 0 {
		if err := c.take(ctx); err != nil || len(c.pairs) == 0 {
			return finger{}, false, err
		}
	}
	pair := c.pairs[0]
	c.pairs = c.pairs[1:]
	if len(c.pairs) == 0 {
		c.movePast(pair.Key)
	}
	f.element, f.count = pair.Key[c.skip:], 1
	if c.level > 0 {
		f.count, err = readCount(pair)
	}
	return f, true, err
}

// take waits for the batch under way, or reads the next one.
func (c *cursor) take(ctx context.Context) (err error) {
	if !c.pending {
		if c.limit == 0 {
			return nil
		}
		c.fetch()
	}
	c.pairs, err = c.batch.Slice(ctx)
	c.pending = false
	if len(c.pairs) < c.limit {
		c.limit = 0 // this was the last batch
	}
	return err
}

// movePast prepares the batch that follows the last key of the batch before.
func (c *cursor) movePast(key []byte) {
	c.limit *= growth
	if c.reverse {
		c.rest.End = key
	} else {
		c.rest.Begin = kv.Successor(key)
	}
}

// readCount reads the count of a finger.
func readCount(pair kv.KeyValue) (int64, error) {
	if len(pair.Value) != 8 {
		return 0, &CountError{Key: pair.Key, Reason: fmt.Sprintf("the count has %d bytes instead of 8", len(pair.Value))}
	}
	return int64(binary.LittleEndian.Uint64(pair.Value)), nil
}

// CountError says that the counts of a list contradict its elements, or are none.
type CountError struct {
	Key    []byte // of the finger
	Reason string
}

// Error implements error.
func (e *CountError) Error() string {
	return fmt.Sprintf("rank: the finger %s: %s: clear the list and insert its elements again", tuple.Describe(e.Key), e.Reason)
}

// counts are the changes of the counts of fingers.
type counts map[place]*count

// place is a finger of a level.
type place struct {
	level   int
	element string
}

// count is what an update does to the count of a finger.
type count struct {
	state state
	n     int64 // what is added; of an inserted finger, its count
}

type state int

const (
	kept state = iota
	inserted
	erased
)

// at returns the change of a finger's count, which is none at first.
func (c counts) at(level int, element []byte) *count {
	at := place{level, string(element)}
	if c[at] == nil {
		c[at] = &count{}
	}
	return c[at]
}

// added returns what the update has added to the count of a finger so far.
func (c counts) added(level int, element []byte) int64 {
	if own := c[place{level, string(element)}]; own != nil {
		return own.n
	}
	return 0
}

func (c *count) add(n int64) { c.n += n }

// write writes all changes. The finger with which a level begins is cleared when its
// count is zero, so that an empty list has no keys.
func (c counts) write(tx kv.Transaction, l *List) {
	for at, count := range c {
		key := l.key(at.level, []byte(at.element))
		switch {
		case count.state == erased:
			tx.Clear(key)
		case count.state == inserted:
			tx.Set(key, kv.Int64(count.n))
		case count.n != 0:
			tx.Atomic(kv.Add, key, kv.Int64(count.n))
			if at.element == "" && count.n < 0 {
				tx.Atomic(kv.CompareAndClear, key, kv.Int64(0))
			}
		}
	}
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
// added up: from k.first up to the last finger, which is excluded.
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
