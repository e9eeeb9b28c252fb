// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// finger is a finger of a level, or an element of level 0, whose count is 1.
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
		c.moveBehind(pair.Key)
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

// moveBehind prepares the batch behind the last key of one.
func (c *cursor) moveBehind(key []byte) {
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
