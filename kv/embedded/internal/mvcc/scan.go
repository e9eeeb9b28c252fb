// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// Scan walks over the keys of a view that have a value, in either direction. A
// seek that only goes on from where the last one led costs a step. Errors are
// kept for close; the scan then behaves as if there were no more keys.
type Scan struct {
	view  *View
	key   []byte
	value []byte

	at     btree.Cursor[entry] // ascending: the first entry not below where; descending: the last below
	course course
	where  position
	gap    Knowledge // ascending: of the gap below at
	base   baseScan
	begin  []byte        // nothing below it will be sought; nil: no bound
	end    []byte        // nothing from it on will be sought; nil: no bound
	stored bool          // the present pair is one of the base
	lend   bool          // pairs of the base need not be copied: they are used before the next step
	passed int           // how many entries without a value were passed one by one
	runs   []kv.KeyRange // long ones of such
	budget *reads.Budget // of the read; nil: no bound
	err    error
}

// course is the direction that a scan has taken.
type course uint8

const (
	nowhereYet course = iota
	ascending
	descending
)

func (s *Scan) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Close releases the scan and returns the first error. It may be called again.
func (s *Scan) Close() error {
	if used, err := s.base.close(); used {
		s.fail(err)
		s.fail(s.view.checkBase())
		if s.err == nil {
			s.tellRuns()
		}
	}
	return s.err
}

// Err returns the first error.
func (s *Scan) Err() error { return s.err }

// SetBounds tells the scan that nothing outside of [begin, end) will be sought.
func (s *Scan) SetBounds(begin, end []byte) { s.begin, s.end = begin, end }

// Passed returns how many entries of the window without a value the scan passed one by
// one, and how many steps it made in the base.
func (s *Scan) Passed() (entries, steps int) {
	if s.base.iter.IsOpen() {
		steps = s.base.iter.Steps()
	}
	return s.passed, steps
}

// Seek moves to the first pair at or after from.
func (s *Scan) Seek(from []byte) (key, value []byte, ok bool) {
	ok = s.seek(from)
	return s.key, s.value, ok
}

// Next moves to the pair after the one that Seek or Next found.
func (s *Scan) Next() (key, value []byte, ok bool) {
	ok = s.next()
	return s.key, s.value, ok
}

// SeekBelow moves to the last pair before end.
func (s *Scan) SeekBelow(end []byte) (key, value []byte, ok bool) {
	ok = s.seekBelow(end)
	return s.key, s.value, ok
}

// step counts a step and reports whether the scan may go on.
func (s *Scan) step() bool {
	if s.budget != nil {
		s.fail(s.budget.Step())
	}
	return s.err == nil
}

// found makes a pair the scan's present one.
func (s *Scan) found(key, value []byte) bool {
	s.key, s.value, s.stored = key, value, false
	return true
}

// foundStored makes the base's present pair the scan's.
func (s *Scan) foundStored() bool {
	s.stored = true
	if s.lend {
		s.key, s.value = s.base.key(), s.base.iter.Value()
	} else {
		s.key, s.value = s.base.pair()
	}
	return true
}

// seek moves to the first key not below from and reports whether there is one.
func (s *Scan) seek(from []byte) bool {
	if s.err != nil {
		return false
	}
	switch {
	case s.course == ascending && s.key != nil && keys.IsSuccessor(from, s.key):
		s.where = position{s.key, true}
	case s.course == ascending && !s.where.passed(from):
		s.where = position{from, false}
	default:
		if r, in := s.view.vacant.Find(from, false); in {
			from = r.End
		}
		s.course, s.where = ascending, position{from, false}
		s.restart(from)
	}
	s.catchUp()
	return s.ascend()
}

// next moves to the key after the one that seek or next has found.
func (s *Scan) next() bool {
	if s.err != nil {
		return false
	}
	s.where = position{s.key, true}
	s.catchUp()
	return s.ascend()
}

// restart places the cursor anew.
func (s *Scan) restart(from []byte) {
	entries := &s.view.entries
	s.gap = Absent
	if s.view.base == nil {
		s.at.Seek(entries, from)
		return
	}
	if s.at.SeekFloor(entries, from) && !bytes.Equal(s.at.Key(), from) {
		s.gap = s.at.Value().gap
		s.at.Next()
	}
}

// catchUp moves the cursor to the first entry not below where.
func (s *Scan) catchUp() {
	for tries := 0; s.at.Valid() && s.where.passed(s.at.Key()); tries++ {
		if tries == 3 {
			s.restart(s.where.key)
			continue
		}
		s.pass()
	}
}

// pass moves past the cursor's entry.
func (s *Scan) pass() {
	if s.view.base != nil {
		s.gap = s.at.Value().gap
	}
	s.at.Next()
}

// ascend finds the first pair at or after where.
func (s *Scan) ascend() bool {
	r := s.beginRun()
	found := s.ascendTo()
	s.endRun(r)
	return found
}

func (s *Scan) ascendTo() bool {
	for s.step() {
		if s.gap == Unknown {
			if s.base.seek(s, s.where) && (!s.at.Valid() || bytes.Compare(s.base.key(), s.at.Key()) < 0) {
				return s.foundStored()
			}
			if s.err != nil {
				return false
			}
		}
		if !s.at.Valid() || s.end != nil && bytes.Compare(s.at.Key(), s.end) >= 0 {
			s.key = nil
			return false
		}
		switch e := s.at.Value(); e.point {
		case Present:
			return s.found(s.at.Key(), e.value)
		case Unknown:
			if s.base.seek(s, position{s.at.Key(), false}) && bytes.Equal(s.base.key(), s.at.Key()) {
				return s.foundStored()
			}
			if s.err != nil {
				return false
			}
		}
		s.where = position{s.at.Key(), true}
		if s.pass(); s.stepped() {
			s.leap()
		}
	}
	return false
}

// stepped counts an entry that was passed because it has no value, and reports
// whether it is time to leap.
func (s *Scan) stepped() bool {
	s.passed++
	return s.view.base != nil && s.passed%s.view.env.leaps.Every == 0 && s.at.Valid()
}

// leap goes over what is known to hold no values, up to the first entry that
// may.
func (s *Scan) leap() {
	if r, in := s.view.vacant.Find(s.where.key, false); in {
		s.where = position{r.End, false}
		s.restart(r.End)
		return
	}
	there := s.base.seek(s, s.where)
	if s.err != nil || there && bytes.Compare(s.base.key(), s.at.LastInLeaf()) <= 0 {
		return
	}
	entries := &s.view.entries
	to := s.at
	to.NextLive(entries)
	if there && (!to.Valid() || bytes.Compare(s.base.key(), to.Key()) < 0) {
		to.Seek(entries, s.base.key())
	}
	before := to
	if to.Valid() {
		before.Prev()
	} else {
		before.Last(entries)
	}
	if bytes.Compare(before.Key(), s.at.Key()) >= 0 {
		s.at, s.gap = to, before.Value().gap
	}
}

// leapBelow is leap downwards.
func (s *Scan) leapBelow() {
	if r, in := s.view.vacant.Find(s.where.key, true); in {
		s.where = position{r.Begin, false}
		s.at.SeekBelow(&s.view.entries, r.Begin)
		return
	}
	there := s.base.seekBelow(s, s.where)
	if s.err != nil || there && bytes.Compare(s.base.key(), s.at.FirstInLeaf()) >= 0 {
		return
	}
	entries := &s.view.entries
	to := s.at
	to.PrevLive(entries)
	if there {
		var floor btree.Cursor[entry]
		floor.SeekFloor(entries, s.base.key())
		if !to.Valid() || bytes.Compare(floor.Key(), to.Key()) > 0 {
			to = floor
		}
	}
	s.at = to
}

// beginRun remembers where a search for the next value begins.
func (s *Scan) beginRun() run { return run{s.where, s.passed, s.base.seeks} }

// run is what a scan goes through between two values.
type run struct {
	from          position
	passed, seeks int // before it
}

// long reports whether the run is worth being told.
func (r *run) long(s *Scan) bool {
	if s.err != nil || s.view.base == nil {
		return false
	}
	most := s.view.env.leaps.LongRun
	return s.passed-r.passed >= most || r.seeks == 0 && s.base.seeks > 0 && s.base.iter.Steps() >= most
}

// endRun keeps the run, if it was long, for close to tell. Where it ends without
// a value, it is known up to the last entry.
func (s *Scan) endRun(r run) {
	if !r.long(s) {
		return
	}
	begin, end := r.from.key, s.key
	if r.from.after {
		begin = keys.Successor(begin)
	}
	if end == nil {
		end = s.where.key
	}
	s.keepRun(begin, end)
}

// endRunBelow is endRun downwards.
func (s *Scan) endRunBelow(r run) {
	if !r.long(s) {
		return
	}
	begin := s.where.key
	if s.key != nil {
		begin = keys.Successor(s.key)
	}
	s.keepRun(begin, r.from.key)
}

// mostRuns is how many runs a scan remembers.
const mostRuns = 8

// keepRun keeps a run, as far as the base was asked.
func (s *Scan) keepRun(begin, end []byte) {
	begin = keys.Max(begin, s.begin)
	if s.end != nil {
		end = keys.Min(end, s.end)
	}
	if bytes.Compare(begin, end) < 0 && len(s.runs) < mostRuns {
		s.runs = append(s.runs, kv.KeyRange{Begin: bytes.Clone(begin), End: bytes.Clone(end)})
	}
}

// tellRuns tells the committer of the long runs.
func (s *Scan) tellRuns() {
	for _, keys := range s.runs {
		s.view.ReportVacancy(keys, s.view.version)
	}
	s.runs = nil
}
