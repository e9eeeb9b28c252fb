// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// overlay is all keys as a range read of a transaction meets them: what the
// database holds, as far as the transaction knows it, with own writes laid over.
// It is walked in sections.
type overlay struct {
	tx       *Transaction // which is locked; nil: the read is made by a goroutine
	view     View         // what the database holds; nil until it is needed: own writes alone do not fix the read version
	scan     Scan         // over view
	points   int          // how many single keys were got without it
	below    kv.KeyValue  // the pair that the scan's last move has found, if that was downwards
	budget   reads.Budget
	builder  *reads.Builder // of the batch that is collected; nil between batches
	err      error
	writes   *writeMap // nil: none
	unshared bool      // neither own writes nor known keys concern the read

	rywDisabled bool
	unmeasured  bool            // the size cannot be asked for
	lastSize    *reads.SizeHint // of the database

	known        *knownKeys    // what is known; shared with the transaction until the read tells something
	forked       bool          // known belongs to this read
	newlyKnown   []kv.KeyRange // what the read has told
	knownChanges int           // tx.learned when the read began
	limit        []byte        // the first key that cannot be read
	beyond       int           // how far the last selector went past all keys, past own writes

	run         storedRun   // stored pairs that were read at once
	own         ownSection  // the own writes around the last section
	around      kv.KeyRange // the known or unknown keys around it
	aroundKnown bool        // around is known
}

// ownSection is a section of own writes.
type ownSection struct {
	walk     segments
	keys     kv.KeyRange
	operated *writeEntry // as in segments
	gap      span
}

// newOverlay returns the overlay of a read that is made while t.mu is held.
func newOverlay(t *Transaction, snapshot bool) *overlay {
	s := new(overlay)
	s.restart(t, snapshot)
	return s
}

// restart begins the overlay anew.
func (s *overlay) restart(t *Transaction, snapshot bool) {
	*s = overlay{
		tx: t, writes: t.ownWrites(snapshot), limit: t.settings.readEnd(), known: t.known, knownChanges: t.knownChanges,
		rywDisabled: t.settings.rywDisabled, unmeasured: t.unmeasured, lastSize: &t.client.sizes,
	}
}

// restartDetached begins the overlay anew, for a goroutine, which reads v, and own writes
// and known keys as they are now. t.mu is held.
func (s *overlay) restartDetached(v View, snapshot bool) {
	t, alone := s.tx, s.unshared
	s.restart(t, snapshot)
	if s.tx, s.view = nil, v; alone {
		s.writes, s.known = nil, nil
		return
	}
	if s.writes != nil {
		s.writes = &writeMap{entries: s.writes.sortedEntries().Snapshot()}
	}
	s.known, s.forked = s.known.fork(), true
}

// close releases the scan and returns the first error that the read met.
func (s *overlay) close() error {
	if s.scan != nil {
		if err := s.scan.Close(); s.err == nil {
			s.err = err
		}
	}
	return s.err
}

// storedScan returns the scan of what the database holds; if that cannot be read,
// or not at once, of nothing.
func (s *overlay) storedScan() Scan {
	if s.scan != nil {
		return s.scan
	}
	if s.fixView(); s.view == nil {
		return noScan{}
	}
	s.scan = s.view.NewScan(&s.budget)
	return s.scan
}

// noScan is a scan of no pairs.
type noScan struct{}

func (noScan) Seek([]byte) (key, value []byte, ok bool)      { return nil, nil, false }
func (noScan) Next() (key, value []byte, ok bool)            { return nil, nil, false }
func (noScan) SeekBelow([]byte) (key, value []byte, ok bool) { return nil, nil, false }
func (noScan) Err() error                                    { return nil }
func (noScan) Close() error                                  { return nil }

// checkReadable returns why the database cannot be read, or not at once.
func (s *overlay) checkReadable() error {
	s.fixView()
	return s.firstError()
}

// firstError returns the first error that the read has met. From then on sections
// are wrong: no stored key divides them any more.
func (s *overlay) firstError() error {
	if s.err == nil && s.scan != nil {
		return s.scan.Err()
	}
	return s.err
}

// fixView gives the overlay the transaction's view, unless it has one. It stays
// without one if that cannot be read, or not at once.
func (s *overlay) fixView() {
	if s.view != nil || s.err != nil {
		return
	}
	v, err := s.tx.currentView()
	if err == nil && !v.InMemory() {
		err = reads.ErrNotAtHand
	}
	if s.err = err; err == nil {
		s.view = v
	}
}

const (
	unknownKeys    sectionKind = iota // not known: to be fetched
	empty                             // known not to be there
	pair                              // a key with a value or with own operations
	unreadableKeys                    // keys that await a versionstamp
)

// afterAll is the section of the end of all keys.
var afterAll = section{kind: empty, begin: keys.SystemEnd, end: specialEnd}

// sectionAt returns the section that holds key.
func (s *overlay) sectionAt(key []byte) section {
	if bytes.Compare(key, keys.SystemEnd) >= 0 {
		return afterAll
	}
	g, found := s.ownSectionAt(key, false)
	if found {
		return g
	}
	if bytes.Compare(g.begin, key) < 0 {
		if low, _ := s.lastStored(g.begin, key); low != nil {
			g.begin = keys.Successor(low)
		}
	}
	return s.upTo(g, key)
}

// firstStored returns the first pair that the database holds in [begin, end), from
// what was read last if that tells it.
func (s *overlay) firstStored(begin, end []byte) (key, value []byte, there bool) {
	if r := &s.run; r.keys.End != nil && !r.back && keys.Holds(r.keys, begin, false) {
		if pairs := r.pairsFrom(begin); len(pairs) > 0 {
			return pairs[0].Key, pairs[0].Value, bytes.Compare(pairs[0].Key, end) < 0
		} else if bytes.Compare(end, r.keys.End) <= 0 {
			return nil, nil, false
		}
	}
	if s.isPoint(begin, end) {
		value = s.getStored(begin)
		return begin, value, value != nil
	}
	first, ok := s.seek(begin)
	if !ok || bytes.Compare(first.Key, end) >= 0 {
		return nil, nil, false
	}
	return first.Key, first.Value, true
}

// mostPoints is how many single keys a read gets before it begins a scan: to begin one
// costs as much as some gets.
const mostPoints = 4

// isPoint reports whether a range is one key, which costs less to get than to seek.
func (s *overlay) isPoint(begin, end []byte) bool {
	if s.scan != nil || s.points == mostPoints || !keys.IsSuccessor(end, begin) {
		return false
	}
	s.points++
	return true
}

// beforeAll is the section in front of the first key.
var beforeAll = section{kind: empty, begin: []byte{}, end: []byte{}}

// lastStored returns the last pair that the database holds in [begin, end), or nil,
// from what was read last if that tells it.
func (s *overlay) lastStored(begin, end []byte) (key, value []byte) {
	if r := &s.run; r.keys.End != nil && r.back && keys.Holds(r.keys, end, true) {
		if pairs := r.pairsFrom(end); len(pairs) > 0 && bytes.Compare(pairs[0].Key, begin) >= 0 {
			return pairs[0].Key, pairs[0].Value
		} else if len(pairs) > 0 || bytes.Compare(r.keys.Begin, begin) <= 0 {
			return nil, nil
		}
	}
	if s.isPoint(begin, end) {
		if value = s.getStored(begin); value != nil {
			key = begin
		}
		return key, value
	}
	if last, ok := s.seekBelow(end); ok && bytes.Compare(last.Key, begin) >= 0 {
		return last.Key, last.Value
	}
	return nil, nil
}

// ownSectionAt returns what own writes and known keys tell of the section that holds
// key, or with below what lies just below it. If found is false it is a part of
// the section returned, and stored pairs divide that.
func (s *overlay) ownSectionAt(key []byte, below bool) (g section, found bool) {
	own := s.ownAround(key, below)
	g = section{begin: own.keys.Begin, end: own.keys.End, own: own.operated}
	switch {
	case own.operated == nil && own.gap.unreadable, own.operated != nil && own.operated.key.unreadable:
		g.kind = unreadableKeys
		return g, true
	case own.operated != nil && own.operated.hidesStored():
		g.kind = pair
		return g, true
	case own.operated == nil && own.gap.cleared:
		g.kind = empty
		return g, true
	}
	known := s.knownAround(key, below)
	if own.operated != nil {
		if known {
			g.kind = pair
		}
		return g, true
	}
	g.begin, g.end = keys.Max(g.begin, s.around.Begin), keys.Min(g.end, s.around.End)
	return g, !known
}

// ownAround returns the own writes at key, or just below it.
func (s *overlay) ownAround(key []byte, below bool) *ownSection {
	o := &s.own
	switch {
	case o.keys.End != nil && keys.Holds(o.keys, key, below):
		return o
	case s.writes == nil:
		o.keys = kv.KeyRange{Begin: []byte{}, End: keys.SystemEnd}
		return o
	case o.walk.ok && !below && bytes.Equal(key, o.keys.End):
		o.walk.next()
	case below:
		o.walk = s.writes.segmentsBelow(key)
	default:
		o.walk = s.writes.segments(key)
	}
	o.keys = kv.KeyRange{Begin: o.walk.begin(), End: o.walk.end(keys.SystemEnd)}
	o.operated, o.gap = o.walk.operated, o.walk.gap
	return o
}

// knownAround reports whether key, or what lies just below it, is known.
func (s *overlay) knownAround(key []byte, below bool) bool {
	if s.around.End == nil || !keys.Holds(s.around, key, below) {
		s.around, s.aroundKnown = s.known.around(key, below)
	}
	return s.aroundKnown
}

// addKnown makes the keys from begin to end known.
func (s *overlay) addKnown(begin, end []byte) {
	if !s.forked {
		s.known, s.forked = s.known.fork(), true
	}
	r := kv.KeyRange{Begin: begin, End: end}
	s.known.add(r)
	s.newlyKnown = append(s.newlyKnown, r)
	s.around = kv.KeyRange{}
}

// sectionValue returns a pair's value, nil if own operations have removed it.
func (s *overlay) sectionValue(g *section) []byte {
	switch {
	case g.own == nil:
		return g.value
	case g.own.hidesStored():
		return g.own.applyTo(nil)
	}
	return g.own.applyTo(s.getStored(g.begin))
}

// getStored returns the value that the database holds of key.
func (s *overlay) getStored(key []byte) []byte {
	if s.fixView(); s.err != nil {
		return nil
	}
	value, err := s.view.Get(key)
	s.err = err
	return value
}

// section is a key with a value, or a range of keys that are alike.
type section struct {
	kind  sectionKind
	begin []byte
	end   []byte
	value []byte      // of a stored pair
	own   *writeEntry // a pair's own operations; nil: it is as stored
}

type sectionKind uint8

// isKnown reports whether the section can be passed.
func (g *section) isKnown() bool { return g.kind == empty || g.kind == pair }

// equals reports whether two sections of one overlay are the same.
func (g *section) equals(o *section) bool {
	return bytes.Equal(g.end, o.end) && bytes.Equal(g.begin, o.begin)
}

// sectionAfter returns the section after g.
func (s *overlay) sectionAfter(g *section) section {
	if bytes.Compare(g.end, keys.SystemEnd) >= 0 {
		return afterAll
	}
	next, found := s.ownSectionAt(g.end, false)
	next.begin = g.end
	if found {
		return next
	}
	return s.upTo(next, g.end)
}

// upTo ends a section of stored keys at the first pair from key on, or is it.
func (s *overlay) upTo(g section, key []byte) section {
	next, value, there := s.firstStored(key, g.end)
	switch {
	case !there:
		g.kind = empty
	case bytes.Equal(next, key):
		g = section{kind: pair, begin: next, end: keys.Successor(next), value: value}
	default:
		g.kind, g.end = empty, next
	}
	return g
}

// sectionBefore returns the section in front of g.
func (s *overlay) sectionBefore(g *section) section {
	if len(g.begin) == 0 {
		return beforeAll
	}
	prev, found := s.ownSectionAt(g.begin, true)
	prev.end = g.begin
	if found {
		return prev
	}
	low, value := s.lastStored(prev.begin, g.begin)
	switch {
	case low == nil:
		prev.kind = empty
	case keys.IsSuccessor(g.begin, low):
		prev = section{kind: pair, begin: low, end: g.begin, value: value}
	default:
		prev.kind, prev.begin = empty, keys.Successor(low)
	}
	return prev
}

// nextSection returns the section next to g.
func (s *overlay) nextSection(g *section, back bool) section {
	if back {
		return s.sectionBefore(g)
	}
	return s.sectionAfter(g)
}

// farEdge returns the edge of g at which a walk leaves it.
func (g *section) farEdge(back bool) []byte {
	if back {
		return g.begin
	}
	return g.end
}

// builders are builders without a batch. A builder goes to a view, through an interface:
// without the pool each batch would cost one.
var builders = sync.Pool{New: func() any { return new(reads.Builder) }}

// startBatch begins to collect a batch after the pairs of front; finishBatch must follow.
func (s *overlay) startBatch(l reads.Limits, front []kv.KeyValue) *reads.Builder {
	s.builder = builders.Get().(*reads.Builder)
	s.builder.Start(l, s.lastSize, front)
	return s.builder
}

// finishBatch returns the pairs that were collected.
func (s *overlay) finishBatch() []kv.KeyValue {
	pairs := s.builder.Finish(s.lastSize)
	builders.Put(s.builder)
	s.builder = nil
	return pairs
}

// collectStored gives the stored pairs of [begin, end) to the builder, and reports
// whether it became full.
func (s *overlay) collectStored(begin, end []byte, back bool) (full bool) {
	if s.fixView(); s.err != nil {
		return false
	}
	full, s.err = s.view.Collect(begin, end, back, s.builder, &s.budget)
	return full
}
