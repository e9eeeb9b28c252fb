// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// baseScan is a scan's position in the base: an iterator that is made when it is
// first needed, and stepped rather than sought where that leads to the same key.
type baseScan struct {
	iter   base.Iterator
	course course   // of the last seek
	sought position // its place
	ok     bool     // it found a key
	seeks  int      // of the iterator
	room   []byte   // where copies of pairs go
}

// open makes the iterator.
func (b *baseScan) open(s *Scan) bool {
	if b.iter.IsOpen() {
		return true
	}
	if err := b.iter.Open(s.view.base, s.begin, s.end); err != nil {
		s.fail(err)
		return false
	}
	return true
}

// close releases the iterator and reports whether there was one.
func (b *baseScan) close() (used bool, err error) {
	if !b.iter.IsOpen() {
		return false, nil
	}
	return true, b.iter.Close()
}

// key returns the key of the pair that was found, until the next seek.
func (b *baseScan) key() []byte { return b.iter.Key() }

// seek moves to the first pair at or after p.
func (b *baseScan) seek(s *Scan, p position) bool {
	if !b.open(s) {
		return false
	}
	near := b.course == ascending && !p.before(b.sought)
	if near && b.ok && p.passed(b.key()) {
		b.ok = b.iter.Next()
		near = !b.ok || !p.passed(b.key())
	}
	b.course, b.sought = ascending, p
	if !near {
		b.seeks++
		if b.ok = b.iter.Seek(p.key); b.ok && p.passed(b.key()) {
			b.ok = b.iter.Next()
		}
	}
	return b.outcome(s)
}

// seekBelow moves to the last pair before p.
func (b *baseScan) seekBelow(s *Scan, p position) bool {
	if !b.open(s) {
		return false
	}
	near := b.course == descending && !b.sought.before(p)
	if near && b.ok && !p.passed(b.key()) {
		b.ok = b.iter.Prev()
		near = !b.ok || p.passed(b.key())
	}
	b.course, b.sought = descending, p
	if !near {
		b.seeks++
		b.ok = b.iter.SeekBelow(p.key, p.after)
	}
	return b.outcome(s)
}

// outcome keeps the iterator's error.
func (b *baseScan) outcome(s *Scan) bool {
	if b.ok {
		return true
	}
	s.fail(b.iter.Err())
	return false
}

// pair returns copies of the pair that was found.
func (b *baseScan) pair() (key, value []byte) { return b.copy(b.key()), b.copy(b.iter.Value()) }

// copy copies p, to what is not nil, in memory that the pairs of a scan share.
func (b *baseScan) copy(p []byte) []byte {
	n := len(p)
	if b.room == nil || n > cap(b.room)-len(b.room) {
		b.room = make([]byte, 0, max(n, min(max(2*cap(b.room), 512), 16<<10)))
	}
	at := len(b.room)
	b.room = append(b.room, p...)
	return b.room[at : at+n : at+n]
}

// gather collects the pairs of [begin, end) and reports whether g became full.
// The scan is of no use afterwards.
func (s *Scan) gather(begin, end []byte, g *reads.Builder) (full bool) {
	s.begin, s.end, s.lend = begin, end, true
	for ok := s.seek(begin); ok && bytes.Compare(s.key, end) < 0; ok = s.next() {
		if s.take(g) || s.stored && s.gatherStored(end, g) {
			return true
		}
	}
	return false
}

// take takes the present pair.
func (s *Scan) take(g *reads.Builder) (full bool) {
	if !s.stored {
		return g.Add(s.key, s.value)
	}
	full = g.AddCopy(s.key, s.value)
	s.key = g.LastKey() // s.key was only lent
	return full
}

// gatherStored goes on with what lies between the present pair, which is one of
// the base, and end or the window's next entry: there is only the base.
func (s *Scan) gatherStored(end []byte, g *reads.Builder) (full bool) {
	if s.gap != Unknown {
		return false
	}
	if s.at.Valid() {
		end = keys.Min(end, s.at.Key())
	}
	b := &s.base
	for b.ok = b.iter.Next(); b.ok && bytes.Compare(b.key(), end) < 0 && s.step(); b.ok = b.iter.Next() {
		if full = g.AddCopy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	s.key = g.LastKey()
	b.sought = position{s.key, true}
	b.outcome(s)
	return false
}

// gatherBelow is gather from end down.
func (s *Scan) gatherBelow(begin, end []byte, g *reads.Builder) (full bool) {
	s.begin, s.end, s.lend = begin, end, true
	for ok := s.seekBelow(end); ok && bytes.Compare(s.key, begin) >= 0; ok = s.seekBelow(s.key) {
		if s.take(g) {
			return true
		}
		s.where.key = s.key
		if s.stored && s.gatherStoredBelow(begin, g) {
			return true
		}
	}
	return false
}

// gatherStoredBelow is gatherStored downwards.
func (s *Scan) gatherStoredBelow(begin []byte, g *reads.Builder) (full bool) {
	at := s.at.Key()
	if s.at.Value().gap != Unknown || bytes.Compare(at, s.key) >= 0 {
		return false
	}
	b := &s.base
	for b.ok = b.iter.Prev(); b.ok && bytes.Compare(b.key(), begin) >= 0 && bytes.Compare(b.key(), at) > 0 && s.step(); b.ok = b.iter.Prev() {
		if full = g.AddCopy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	s.key = g.LastKey()
	s.where = position{s.key, false}
	b.sought = s.where
	b.outcome(s)
	return false
}

// seekBelow moves to the last key below from.
func (s *Scan) seekBelow(from []byte) bool {
	if s.err != nil {
		return false
	}
	if s.course != descending || !bytes.Equal(from, s.where.key) {
		if r, in := s.view.vacant.Find(from, true); in {
			from = r.Begin
		}
		s.course = descending
		s.at.SeekBelow(&s.view.entries, from)
	} else if s.at.Valid() && bytes.Equal(s.at.Key(), from) {
		s.at.Prev()
	}
	s.where = position{from, false}
	return s.descend()
}

// descend finds the last pair below where.
func (s *Scan) descend() bool {
	r := s.beginRun()
	found := s.descendTo()
	s.endRunBelow(r)
	return found
}

func (s *Scan) descendTo() bool {
	for s.at.Valid() {
		if !s.step() {
			return false
		}
		e := s.at.Value()
		if s.view.base != nil && s.descendBase(e) {
			s.where = position{s.key, false}
			return true
		}
		if s.err != nil {
			return false
		}
		s.where = position{s.at.Key(), false}
		if e.point == Present {
			return s.found(s.at.Key(), e.value)
		}
		if s.begin != nil && bytes.Compare(s.at.Key(), s.begin) <= 0 {
			break
		}
		if s.at.Prev(); s.stepped() {
			s.leapBelow()
		}
	}
	s.key = nil
	return false
}

// descendBase finds a pair of the base below where that the cursor's entry e,
// or the gap after it, lets through.
func (s *Scan) descendBase(e *entry) bool {
	at := s.at.Key()
	if e.gap == Unknown && s.base.seekBelow(s, s.where) && bytes.Compare(s.base.key(), at) > 0 {
		return s.foundStored()
	}
	if e.point == Unknown && s.base.seekBelow(s, position{at, true}) && bytes.Equal(s.base.key(), at) {
		return s.foundStored()
	}
	return false
}

// position is a key, or the place just after it.
type position struct {
	key   []byte
	after bool
}

// passed reports whether key lies before the place.
func (p position) passed(key []byte) bool {
	c := bytes.Compare(key, p.key)
	return c < 0 || c == 0 && p.after
}

// before reports whether p lies before q.
func (p position) before(q position) bool {
	c := bytes.Compare(p.key, q.key)
	return c < 0 || c == 0 && !p.after && q.after
}
