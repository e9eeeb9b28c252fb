// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
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

// seek moves to the first pair at or behind p.
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
		b.ok = b.iter.SeekBelow(p.key, p.behind)
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
