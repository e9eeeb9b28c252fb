// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

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
	return min(bits.TrailingZeros64(Hash(element))/fanBits, Top)
}

// Hash is the hash by which layouts spread keys: the heights of elements and the shards
// of scattered keys. It is part of the layout of stored data and never changes.
//
// It is FNV-1a (Fowler, Noll, Vo), with uppermost bits that hardly depend on the last bytes
// of a short key, finished by the mixing steps of MurmurHash3's fmix64 (Appleby), which
// make every bit depend on every other.
func Hash(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
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

// keyAfter returns the first key after that of an element or finger.
func (l *List) keyAfter(level int, element []byte) []byte {
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

// after returns the keys of a level after an element.
func (l *List) after(level int, element []byte) kv.KeyRange {
	return kv.KeyRange{Begin: l.keyAfter(level, element), End: l.end(level)}
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

// Start starts the reads of an update. An element must not be both erased and
// inserted, or twice in one list. The update keeps the slices. Nothing else may write to the list
// in this transaction until Write.
func (l *List) Start(tx kv.Transaction, erase, insert [][]byte) *Update {
	u := &Update{list: l, tx: tx, counts: counts{}}
	view := tx.Snapshot()
	for _, element := range erase {
		u.changes = append(u.changes, &change{element: element, height: Height(element), erase: true})
	}
	for _, element := range insert {
		u.changes = append(u.changes, &change{element: element, height: Height(element)})
	}
	for _, c := range u.changes {
		u.startReads(view, c)
	}
	return u
}

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
// with changes before the range, back to the nearest finger that both ends share.
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

// Nth returns the element that has n elements between begin, included, and itself: for
// n = 0 the first one not before begin. It returns nil if there are no more than n
// elements, or if n is negative. An empty begin is the beginning of the list.
//
// Cost: one round of reads if n is about 16 or less, and one more for each time that n
// is another 16 times greater: at most six ([Top] + 1), rarely more. In a
// [kv.Transaction] the commit conflicts with concurrent changes between
// begin and the element, and with some changes after the element that share a finger with it.
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
// left; then it goes down level by level from that finger.
type selection struct {
	list *List
	tx   kv.ReadTransaction
	left int64 // the number of elements that are still to be passed
}

// start starts the reads of all levels after begin, in one round.
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

// walk passes fingers until one has a count above what is left or, below the limit, an element
// that is higher than the level. It returns that finger, and false after the last one.
func (s *selection) walk(ctx context.Context, c *cursor, level, limit int) (f finger, found bool, err error) {
	r := kv.KeyRange{Begin: c.rest.Begin, End: c.rest.End}
	for {
		f, found, err = c.next(ctx)
		if err != nil || !found {
			break
		}
		if level < limit && Height(f.element) > level || f.count > s.left {
			r.End = s.list.keyAfter(level, f.element)
			break
		}
		s.left -= f.count
	}
	if tx, writes := s.tx.(kv.Transaction); writes && err == nil {
		err = tx.AddReadConflictRange(r)
	}
	return f, found, err
}

// descend returns the element that comes s.left elements after a finger.
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
// not after it. p is from 0, the first element, to 100, the last one; beyond that it is
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

// Position is how far a verification has come. The zero Position is its beginning.
type Position struct {
	Level   int    // the level that is compared with the next one
	Element []byte // the finger of the next level at which it goes on
}

// Verify compares up to limit fingers of a level with the level below: that there is a
// finger for each element of its height, and for no other, and that its count is true.
// It returns where to go on, and done after the last level. So a list of any length is
// verified in several transactions; each finger is compared at one version.
// A fault is a *[CountError].
//
// Cost: two rounds of reads, and more for a limit above a hundred.
func (l *List) Verify(ctx context.Context, tx kv.ReadTransaction, at Position, limit int) (next Position, done bool, err error) {
	level := at.Level + 1
	fingers, more, err := l.fingers(ctx, tx, level, at.Element, max(limit, 1))
	if err != nil {
		return at, false, err
	}
	next = Position{Level: level}
	if len(fingers) == 0 && len(at.Element) > 0 {
		return next, level == Top, nil // at.Element was the last one, and has been erased since
	}
	v := verification{list: l, level: level}
	r := l.from(at.Level, at.Element)
	if len(at.Element) > 0 {
		r.Begin = l.key(at.Level, fingers[0].element)
	}
	if more {
		last := len(fingers) - 1
		next = Position{Level: at.Level, Element: fingers[last].element}
		fingers, r.End = fingers[:last], l.key(at.Level, next.Element)
	}
	v.below = l.start(tx, at.Level, r, false, lookupRun)
	if err := v.compare(ctx, fingers); err != nil {
		return at, false, err
	}
	return next, next.Level == Top, nil
}

// fingers returns fingers of a level from one on, up to limit and the next one, with more
// set if that is there. From the beginning, the first is the empty one.
func (l *List) fingers(ctx context.Context, tx kv.ReadTransaction, level int, element []byte, limit int) (all []finger, more bool, err error) {
	c := l.start(tx, level, l.from(level, element), false, limit+1)
	for {
		f, found, err := c.next(ctx)
		if err != nil || !found {
			return all, false, err
		}
		if len(all) == 0 && len(element) == 0 && len(f.element) > 0 {
			all = append(all, finger{})
		}
		if all = append(all, f); len(all) > limit {
			return all, true, nil
		}
	}
}

// verification compares fingers of a level with the level below.
type verification struct {
	list  *List
	level int
	below *cursor
}

// compare compares the fingers with what the level below has between them.
func (v *verification) compare(ctx context.Context, fingers []finger) error {
	var f finger
	var sum int64
	if len(fingers) > 0 {
		f, fingers = fingers[0], fingers[1:]
	}
	for {
		g, found, err := v.below.next(ctx)
		if err != nil {
			return err
		}
		if found && (Height(g.element) < v.level || bytes.Equal(g.element, f.element)) {
			sum += g.count
			continue
		}
		if f.count != sum {
			return v.fault(f, fmt.Sprintf("it counts %d elements, the level below %d", f.count, sum))
		}
		if !found {
			break
		}
		if len(fingers) == 0 || !bytes.Equal(fingers[0].element, g.element) {
			return v.fault(g, "it is missing")
		}
		f, fingers, sum = fingers[0], fingers[1:], g.count
	}
	if len(fingers) > 0 {
		return v.fault(fingers[0], "there is no such element on the level below")
	}
	return nil
}

func (v *verification) fault(f finger, reason string) error {
	return &CountError{Key: v.list.key(v.level, f.element), Reason: reason}
}
