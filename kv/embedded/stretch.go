// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// stretch reads keys in order: those of a view with a transaction's own writes
// laid over. It implements selectors and ranges.
type stretch struct {
	tx     *transaction
	scan   *scan // nil until the database is needed: own writes alone do not fix the read version
	err    error
	writes *writeMap // nil: none
	limit  []byte    // the first key that cannot be read
	beyond int       // how many keys behind all others the last selector went
}

func (t *transaction) newStretch(snapshot bool) *stretch {
	return &stretch{tx: t, writes: t.ownWrites(snapshot), limit: t.settings.readEnd()}
}

// close releases the scan and returns the first error that it met.
func (s *stretch) close() error {
	if s.scan == nil || s.err != nil {
		return s.err
	}
	return s.scan.close()
}

// stored returns the scan of what the database holds; if that cannot be read,
// of nothing.
func (s *stretch) stored() *scan {
	if s.scan != nil {
		return s.scan
	}
	v, err := s.tx.readable()
	if err != nil {
		s.err, v = err, &view{}
	}
	scan := v.newScan()
	s.scan = &scan
	return s.scan
}

// place is something that a walk over a stretch meets.
type place struct {
	kind  placeKind
	key   []byte // of a pair; the first or the last+1 of what is unreadable
	value []byte // nil if own operations have cleared the key
}

type placeKind uint8

const (
	nowhere placeKind = iota // the walk reached the end of what can be read
	pair                     // a key that is present, or has own operations
	veiled                   // keys that await a versionstamp
)

// after returns the first place not below from, if that is below to. It does
// not look farther, so that what own writes answer alone stays so.
func (s *stretch) after(from, to []byte) place {
	if bytes.Compare(from, to) >= 0 {
		return place{}
	}
	if s.writes == nil {
		return s.foundAfter(from, to)
	}
	seg := s.writes.segments(from)
	for ; seg.valid() && bytes.Compare(seg.begin(), to) < 0; seg.next() {
		from = maxKey(from, seg.begin())
		switch {
		case seg.span().unreadable:
			return place{kind: veiled, key: from}
		case seg.operated != nil:
			return s.ownPair(from, seg.operated)
		case seg.gap.cleared:
			continue
		}
		if p := s.foundAfter(from, minKey(to, seg.end(to))); p.kind != nowhere {
			return p
		}
	}
	return place{}
}

// foundAfter returns the view's first pair in [from, limit).
func (s *stretch) foundAfter(from, limit []byte) place {
	if scan := s.stored(); scan.seek(from) && bytes.Compare(scan.key, limit) < 0 {
		return place{kind: pair, key: scan.key, value: scan.value}
	}
	return place{}
}

// ownPair returns the pair that own operations make of a key.
func (s *stretch) ownPair(key []byte, w *written) place {
	var below []byte
	if w.dependent() {
		below = s.stored().get(key)
	}
	return place{kind: pair, key: key, value: w.value(below)}
}

// before returns the last place below from, if that is not below low. It does
// not look farther.
func (s *stretch) before(from, low []byte) place {
	if bytes.Compare(from, low) <= 0 {
		return place{}
	}
	if s.writes == nil {
		return s.foundBefore(from, low)
	}
	for bytes.Compare(from, low) > 0 {
		seg := s.writes.segmentsBelow(from)
		if !seg.valid() {
			break
		}
		switch {
		case seg.span().unreadable:
			return place{kind: veiled, key: from}
		case seg.operated != nil:
			return s.ownPair(seg.begin(), seg.operated)
		case !seg.gap.cleared:
			if p := s.foundBefore(from, maxKey(low, seg.begin())); p.kind != nowhere {
				return p
			}
		}
		from = seg.begin()
	}
	return place{}
}

// foundBefore returns the view's last pair in [low, from).
func (s *stretch) foundBefore(from, low []byte) place {
	if scan := s.stored(); scan.seekBelow(from) && bytes.Compare(scan.key, low) >= 0 {
		return place{kind: pair, key: scan.key, value: scan.value}
	}
	return place{}
}

// spot is a selector on its way to a key.
type spot struct {
	key     []byte // where the walk has come to
	offset  int    // how far it still has to go; 1: it is there
	asked   int    // offset, or what was left of it at the end of all keys
	veil    bool   // an unreadable key is in the way
	toBegin bool   // it ran off the beginning
	toEnd   bool   // it ran off the end
}

// done reports whether key is the spot: the first place not below it counts.
func (p *spot) done() bool { return p.offset == 1 }

// resolve walks a selector without OrEqual to its key.
func (s *stretch) resolve(sel kv.KeySelector) spot {
	p := spot{key: sel.Key, offset: sel.Offset, asked: sel.Offset}
	if p.offset > 1 {
		s.forward(&p)
	} else if p.offset < 1 {
		s.backward(&p)
	}
	if sel.Offset != 1 {
		p.asked = p.offset
	}
	switch {
	case p.veil && p.offset != 1:
	case p.offset < 1:
		p.key, p.offset, p.toBegin = []byte{}, 1, true
	case p.offset > 1:
		p.key, p.offset, p.toEnd = s.limit, 1, true
	}
	if p.offset == 1 {
		s.settle(&p)
	}
	return p
}

func (s *stretch) forward(p *spot) {
	for p.offset > 1 {
		at := s.after(p.key, s.limit)
		switch at.kind {
		case nowhere:
			return
		case veiled:
			p.key, p.veil = at.key, true
			return
		}
		p.offset--
		p.key = successor(at.key)
	}
}

// backward does not count the empty key, as FoundationDB's client does not:
// nothing lies below that.
func (s *stretch) backward(p *spot) {
	for p.offset < 1 {
		at := s.before(p.key, []byte{})
		switch {
		case at.kind == nowhere || at.kind == pair && len(at.key) == 0:
			return
		case at.kind == veiled:
			p.key, p.veil = at.key, true
			return
		}
		p.offset++
		p.key = at.key
	}
}

// settle moves a resolved spot over what own writes have cleared, and finds out
// whether it has come to an unreadable key.
func (s *stretch) settle(p *spot) {
	if s.writes == nil {
		return
	}
	for seg := s.writes.segments(p.key); seg.valid() && bytes.Compare(seg.begin(), s.limit) < 0; seg.next() {
		p.key = maxKey(p.key, seg.begin())
		p.veil = seg.span().unreadable
		if p.veil || seg.operated != nil || !seg.gap.cleared {
			return
		}
	}
}

// resolveKey returns the key that a selector selects.
func (s *stretch) resolveKey(sel kv.KeySelector) ([]byte, error) {
	sel = plain(sel)
	if sel.Offset > 0 {
		got, err := s.ascend(sel, kv.FirstGreaterOrEqual(s.limit), bounds{rows: 1})
		switch {
		case err != nil:
			return nil, err
		case got.toBegin:
			return []byte{}, nil
		case got.toEnd || len(got.kvs) == 0:
			s.beyond = max(got.beyond, 1)
			return s.limit, nil
		}
		return got.kvs[0].Key, nil
	}
	sel.Offset++
	got, err := s.descend(kv.FirstGreaterOrEqual([]byte{}), sel, bounds{rows: 1})
	switch {
	case err != nil:
		return nil, err
	case got.toEnd:
		return s.limit, nil
	case got.toBegin || len(got.kvs) == 0:
		return []byte{}, nil
	}
	return got.kvs[0].Key, nil
}
