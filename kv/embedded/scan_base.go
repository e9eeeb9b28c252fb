// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv"
)

// baseScan is a scan's position in the base: an iterator that is made when it is
// first needed, and stepped rather than sought where that leads to the same key.
type baseScan struct {
	iter   *pebble.Iterator
	gate   *gate
	course course // of the last seek
	sought spotOf // its place
	ok     bool   // it found a key
	seeks  int    // of the iterator
	name   []byte // room for a key of the base
	room   []byte // where copies of pairs go
}

// open makes the iterator.
func (b *baseScan) open(s *scan) bool {
	if b.iter != nil {
		return true
	}
	base := s.view.base
	if !base.gate.enter() {
		s.fail(kv.ErrClosed)
		return false
	}
	iter, err := base.db.NewIter(b.bounds(s))
	if err != nil {
		base.gate.leave()
		s.fail(readFailed(err))
		return false
	}
	b.iter, b.gate = iter, base.gate
	return true
}

// bounds keep the iterator from going through deleted pairs that are not asked
// for.
func (b *baseScan) bounds(s *scan) *pebble.IterOptions {
	o := &pebble.IterOptions{LowerBound: firstPair, UpperBound: lastPair}
	if s.begin != nil {
		o.LowerBound = baseKey(nil, s.begin)
	}
	if s.end != nil {
		o.UpperBound = baseKey(nil, s.end)
	}
	return o
}

var firstPair, lastPair = []byte{userSpace}, []byte{spaceEnd}

// close releases the iterator and reports whether there was one.
func (b *baseScan) close() (used bool, err error) {
	if b.iter == nil {
		return false, nil
	}
	if err := b.iter.Close(); err != nil {
		defer b.gate.leave()
		b.iter = nil
		return true, readFailed(err)
	}
	b.gate.leave()
	b.iter = nil
	return true, nil
}

// key returns the key of the pair that was found, until the next seek.
func (b *baseScan) key() []byte { return b.iter.Key()[1:] }

// seek moves to the first pair at or behind p.
func (b *baseScan) seek(s *scan, p spotOf) bool {
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
		b.name = baseKey(b.name[:0], p.key)
		b.seeks++
		if b.ok = b.iter.SeekGE(b.name); b.ok && p.passed(b.key()) {
			b.ok = b.iter.Next()
		}
	}
	return b.outcome(s)
}

// seekBelow moves to the last pair before p.
func (b *baseScan) seekBelow(s *scan, p spotOf) bool {
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
		b.name = baseKey(b.name[:0], p.key)
		if p.behind {
			b.name = append(b.name, 0)
		}
		b.seeks++
		b.ok = b.iter.SeekLT(b.name)
	}
	return b.outcome(s)
}

// outcome keeps the iterator's error.
func (b *baseScan) outcome(s *scan) bool {
	if b.ok {
		return true
	}
	if err := b.iter.Error(); err != nil {
		s.fail(readFailed(err))
	}
	return false
}

// before reports whether p lies before q.
func (p spotOf) before(q spotOf) bool {
	c := bytes.Compare(p.key, q.key)
	return c < 0 || c == 0 && !p.behind && q.behind
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
