// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/kazahana-db/kazahana/index/internal/hash"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Top is the highest level. With a fan-out of 16 its fingers are a million
// elements apart.
const Top = 5

// fanBits is the logarithm of the fan-out.
const fanBits = 4

// LevelSize is how many bytes the key of a finger has besides its prefix and
// its element.
const LevelSize = 2

// List is a list of elements in a database. An element is not empty, and its
// first byte is not 0xff: for example a packed tuple. The zero List is not usable.
type List struct {
	Elements []byte // what the keys of elements begin with; the element follows
	Levels   []byte // what the keys of fingers begin with; the level and the element follow
}

// Height returns the highest level of which the element is a finger: for each
// level in one element of sixteen one more. It depends on the element only, and is a
// part of the layout of stored data.
func Height(element []byte) int {
	if len(element) == 0 {
		return Top // of the finger with which a level begins
	}
	return min(bits.TrailingZeros64(hash.Of(element))/fanBits, Top)
}

// Clear removes all elements.
func (l *List) Clear(tx kv.Transaction) {
	tx.ClearRange(kv.KeyRange{Begin: l.Elements, End: l.end(0)})
	tx.ClearRange(kv.PrefixRange(l.Levels))
}

// key returns the key of an element, or of a finger of a level above 0.
func (l *List) key(level int, element []byte) []byte {
	return l.appendKey(level, len(element), element)
}

// behind returns the first key behind that of an element or finger.
func (l *List) behind(level int, element []byte) []byte {
	return append(l.appendKey(level, len(element)+1, element), 0)
}

// end returns the end of the keys of a level.
func (l *List) end(level int) []byte { return append(l.appendKey(level, 1, nil), 0xff) }

// appendKey returns a key in a new buffer with room for an element of that size.
func (l *List) appendKey(level, size int, element []byte) []byte {
	if level == 0 {
		return append(slices.Grow(slices.Clip(bytes.Clone(l.Elements)), size), element...)
	}
	key := slices.Grow(slices.Clip(bytes.Clone(l.Levels)), LevelSize+size)
	return append(tuple.AppendInt(key, int64(level)), element...)
}

// from returns the keys of a level from an element on.
func (l *List) from(level int, element []byte) kv.KeyRange {
	return kv.KeyRange{Begin: l.key(level, element), End: l.end(level)}
}

// after returns the keys of a level behind an element.
func (l *List) after(level int, element []byte) kv.KeyRange {
	return kv.KeyRange{Begin: l.behind(level, element), End: l.end(level)}
}

// before returns the keys of a level before an element.
func (l *List) before(level int, element []byte) kv.KeyRange {
	return kv.KeyRange{Begin: l.key(level, nil), End: l.key(level, element)}
}

// start starts a cursor over the keys r of a level.
func (l *List) start(reader kv.ReadTransaction, level int, r kv.KeyRange, reverse bool, limit int) *cursor {
	c := &cursor{reader: reader, level: level, skip: len(l.key(level, nil)), rest: r, reverse: reverse, limit: limit}
	c.fetch()
	return c
}
