// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// laneScan reads the several ranges of a plan side by side: the lanes of a union, or
// the two of an intersection.
type laneScan struct {
	*query
	plan   plan
	cursor *cursor
	tx     *transaction
	store  *openStore
	lanes  []laneRead
	filter filter
	writes int64 // how many the transaction had made when the scan began
	window *recordWindow

	taken laneEntry // of an intersection, the one taken last, though it be in one lane only
}

// laneEntry is an entry that was taken from a lane.
type laneEntry struct {
	lane     *laneRead
	pair     kv.KeyValue
	position []byte // of the cursor after it
	looked   int    // of an intersection, the count of the cursor after it
}

// fill reads on in the lanes with no known next pair: all of them, or, of lanes that come one
// after the other, the first that has not ended.
func (s *laneScan) fill(ctx context.Context) error {
	for i := range s.lanes {
		l := s.inOrder(i)
		if err := l.fill(ctx, s.tx); err != nil {
			return err
		}
		if s.isSequence() && !l.ended {
			return nil
		}
	}
	return nil
}

// isSequence reports whether the lanes come one after the other.
func (s *laneScan) isSequence() bool { return s.plan.Union != nil && !s.plan.Union.Merged }

// inOrder returns the i-th lane in the direction of the query.
func (s *laneScan) inOrder(i int) *laneRead {
	if s.reverse {
		i = len(s.lanes) - 1 - i
	}
	return &s.lanes[i]
}

// isAtEnd reports whether there are no further records: an intersection ends with
// either of its lanes.
func (s *laneScan) isAtEnd() bool {
	ended := 0
	for i := range s.lanes {
		if l := &s.lanes[i]; l.ended && len(l.pairs) == 0 {
			ended++
		}
	}
	return ended == len(s.lanes) || s.plan.Both != nil && ended > 0
}

// first returns the lane with the next pair; nil if it must be read before that is
// known, or at the end. If the next pairs of several lanes have the same place, it returns the
// first of these lanes in the direction of the query: in a unique index the pairs may be of
// different records.
func (s *laneScan) first() (first *laneRead) {
	for i := range s.lanes {
		l := s.inOrder(i)
		switch {
		case l.isDry():
			return nil
		case len(l.pairs) == 0:
		case s.isSequence():
			return l
		case first == nil || s.isBefore(l.head(), first.head()):
			first = l
		}
	}
	return first
}

// isBefore reports whether one place comes before another in the direction of the query.
func (s *laneScan) isBefore(a, b []byte) bool {
	order := bytes.Compare(a, b)
	if s.reverse {
		order = -order
	}
	return order < 0
}

const (
	mostInBatch = 256              // how many records of several lanes are fetched at once
	mostTaken   = 16 * mostInBatch // how many entries of an intersection are taken at once to find them
)

// takeBatch takes the next entries: as many as are wanted, or a few more where some may
// be dropped. It reads on until it has them, so that their records are fetched in
// one round; but only so far that the cursor moves in time where an intersection has
// few. After an error it returns those before it.
func (s *laneScan) takeBatch(ctx context.Context) (batch []laneEntry, err error) {
	s.taken = laneEntry{position: s.cursor.position, looked: s.cursor.looked}
	most := s.batchSize()
	for len(batch) < most && s.taken.looked-s.cursor.looked < mostTaken {
		l := s.first()
		if l == nil {
			if err := s.fill(ctx); err != nil {
				return batch, err
			}
			l = s.first()
		}
		if l == nil || s.isAtEnd() {
			return batch, nil
		}
		if s.plan.Both == nil {
			batch = append(batch, s.takeFrom(l))
			continue
		}
		both, err := s.takeCommon(l)
		if err != nil {
			return batch, err
		}
		if both {
			batch = append(batch, s.taken)
		}
	}
	return batch, nil
}

// batchSize returns how many records to fetch at once.
func (s *laneScan) batchSize() int {
	limit := s.cursor.limit
	switch {
	case limit == 0:
		return mostInBatch
	case s.dropsNothing():
		return min(mostInBatch, limit)
	}
	return min(mostInBatch, max(2*limit, 16))
}

func (s *laneScan) dropsNothing() bool {
	return s.plan.Union != nil && s.plan.Union.Disjoint && !s.drops(&s.plan)
}

// takeFrom takes the next entry of a lane.
func (s *laneScan) takeFrom(l *laneRead) laneEntry {
	e := laneEntry{lane: l}
	switch {
	case s.plan.Both != nil:
		e.position = l.head()
	case s.isSequence():
		e.position = lanePosition{l.number, l.read.Position(l.pairs[0].Key)}.bytes()
	default:
		e.position = lanePosition{l.number, l.head()}.bytes()
	}
	e.pair = l.take()
	return e
}

// takeCommon takes the entries of the lowest id from both lanes, and reports whether
// both had it. first is the lane that has it. If that is read empty it goes on
// at the id of the other one.
func (s *laneScan) takeCommon(first *laneRead) (both bool, err error) {
	other := &s.lanes[1-first.number]
	if both = bytes.Equal(first.head(), other.head()); both {
		first, other = &s.lanes[0], &s.lanes[1]
	}
	looked := s.taken.looked
	if err := s.countRecord(&looked); err != nil {
		return false, err
	}
	if both {
		other.take()
	}
	s.taken = s.takeFrom(first)
	s.taken.looked = looked
	if first.matched = first.matched || both; first.isDry() && !first.matched && !both {
		first.skipTo(s.tx, other.head(), s.reverse)
	}
	return both, nil
}

// emitBatch fetches the records of a batch and yields those that the query wants. It
// reports whether the query goes on.
func (s *laneScan) emitBatch(ctx context.Context, batch []laneEntry, yield func(any, error) bool) bool {
	for len(batch) > 0 {
		n := s.emitSome(ctx, batch[:min(len(batch), s.window.Most)], yield)
		if n == 0 {
			return false
		}
		batch = batch[n:]
	}
	if s.plan.Both != nil { // after the entries without a partner, too
		s.cursor.position, s.cursor.looked = s.taken.position, s.taken.looked
	}
	return true
}

// emitSome is emitBatch for the first entries of a batch: it returns how many, 0 if the query
// does not go on.
func (s *laneScan) emitSome(ctx context.Context, batch []laneEntry, yield func(any, error) bool) int {
	b := newEntryBatch(s.record, s.tx, s.store)
	defer b.release()
	b.readBefore(s.tx, s.writes)
	for i, e := range batch {
		if err := b.addEntry(e.lane.ix, e.pair, len(batch)-i); err != nil {
			yield(nil, err)
			return 0
		}
	}
	b.start()
	records, err := b.awaitSome(ctx)
	s.window.note(len(records), b.read)
	for i, v := range records {
		if !s.emitEntry(&batch[i], v, b.isOld(), yield) {
			return 0
		}
	}
	if err != nil {
		yield(nil, err)
		return 0
	}
	return len(records)
}

// emitEntry yields a record unless the query drops it.
func (s *laneScan) emitEntry(e *laneEntry, v any, old bool, yield func(any, error) bool) bool {
	if s.plan.Both != nil {
		s.cursor.looked = e.looked
	} else if v != nil && s.isCounted(e, v) {
		if err := s.countRecord(&s.cursor.looked); err != nil {
			yield(nil, err)
			return false
		}
	}
	if v == nil || s.hides(v) || !s.isWanted(e, v, old) {
		s.cursor.position = e.position
		return true
	}
	s.cursor.movePast(e.position)
	return yield(v, nil) && !s.cursor.done
}

// isCounted reports whether an entry of a union is the one by which its record counts: its lane
// has a filter, and no earlier one with a filter has the record in its range.
func (s *laneScan) isCounted(e *laneEntry, v any) bool {
	l := e.lane
	if f := s.newFilter(&l.plan); l.plan.Filter == nil || !f.isCounted(v, l.read.Position(e.pair.Key)) {
		return false
	}
	for i := range s.lanes[:l.number] {
		if earlier := &s.lanes[i].plan; earlier.Filter != nil && s.fulfils(v, earlier.Says) {
			return false
		}
	}
	return true
}

// isWanted reports whether the record of an entry is to be yielded: it fulfils the
// filter, and no earlier lane has it. In an entry that may be old it must still fulfil
// the conditions of its lane.
func (s *laneScan) isWanted(e *laneEntry, v any, old bool) bool {
	l := e.lane
	u := s.plan.Union
	if u == nil {
		return s.filter.admits(v) && (!old || s.record.Values == nil || s.fulfils(v, s.search.Alternatives[0]))
	}
	if f := s.newFilter(&l.plan); !f.isCounted(v, l.read.Position(e.pair.Key)) || !f.admits(v) {
		return false
	}
	if old && s.record.Values != nil && !s.fulfils(v, u.Alternatives[l.number]) {
		return false
	}
	if u.Disjoint {
		return true
	}
	for _, earlier := range u.Alternatives[:l.number] {
		if s.fulfils(v, earlier) {
			return false
		}
	}
	return true
}

func (s *laneScan) fulfils(v any, clauses erased.Conjunction) bool {
	return s.record.Fulfils(v, clauses, s.filter.buf)
}

func (s *laneScan) close() {
	for i := range s.lanes {
		s.lanes[i].close()
	}
}
