// SPDX-License-Identifier: Apache-2.0

package rank

import "github.com/kazahana-db/kazahana/kv"

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
