// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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
	if r.from.behind {
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
