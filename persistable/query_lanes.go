// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// laneRead is the read of one of several ranges of a plan.
type laneRead struct {
	number  int // in the order of the plan
	plan    plan
	ix      *index.Index
	read    scan.Range
	pairs   []kv.KeyValue // read, and not taken
	matched bool          // an entry of the last batch was in the other lane of an intersection, too
	next    func() ([]kv.KeyValue, error, bool)
	stop    func()
	ended   bool
}

// head returns what the next pair is ordered by: its key after the values with
// equality.
func (l *laneRead) head() []byte {
	return l.read.Position(l.pairs[0].Key)[len(l.plan.Bounds.EqualValues()):]
}

// isDry reports whether the next pair must be read.
func (l *laneRead) isDry() bool { return len(l.pairs) == 0 && !l.ended }

// fill reads the next batch, if the next pair is not there.
func (l *laneRead) fill(ctx context.Context, t *transaction) error {
	for l.isDry() {
		if l.next == nil {
			l.next, l.stop = iter.Pull2(l.read.Batches(ctx, &t.Transaction))
		}
		pairs, err, ok := l.next()
		if err != nil {
			return err
		}
		l.pairs, l.ended, l.matched = pairs, !ok, false
	}
	return nil
}

// take takes the next pair.
func (l *laneRead) take() kv.KeyValue {
	pair := l.pairs[0]
	l.pairs = l.pairs[1:]
	return pair
}

// skipTo begins the read again at the entry of an id, or at the next one. All entries
// of the lane have the same values; those before the id need not be read.
func (l *laneRead) skipTo(t *transaction, id []byte, reverse bool) {
	l.close()
	l.next, l.read = nil, l.read.Restarted(l.startingAt(id, reverse))
	l.read.Start(&t.Transaction)
}

// startingAt returns the bounds of the lane from an entry on, which is told by what is after
// the values with equality.
func (l *laneRead) startingAt(head []byte, reverse bool) index.Bounds {
	position := slices.Concat(l.plan.Bounds.EqualValues(), head)
	if reverse {
		return l.plan.Bounds.Resume(kv.Successor(position), true)
	}
	return l.plan.Bounds.StartAt(position)
}

// resumeMerged narrows one of several merged lanes to what is after a position: an
// entry at the position's key is after it if its lane is.
func (l *laneRead) resumeMerged(at lanePosition, reverse bool) {
	if at.isAfter(l.number, reverse) {
		l.plan.Bounds = l.startingAt(at.key, reverse)
		return
	}
	b := &l.plan.Bounds
	*b = b.Resume(slices.Concat(b.EqualValues(), at.key), reverse)
}

func (l *laneRead) close() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// startLanes starts the first reads of all ranges of a plan.
func (q *query) startLanes(o *openStore, t *transaction, p *plan, c *cursor) (lanes []laneRead) {
	for i, one := range p.Ranges() {
		if p.Both != nil {
			one.Both = nil
		}
		l := laneRead{number: i, plan: one, ix: &o.indexes[one.Index]}
		l.ended = !q.resumeLane(&l, p, c)
		l.read = q.laneRange(&l, p, c)
		if !l.ended {
			l.read.Start(&t.Transaction)
		}
		lanes = append(lanes, l)
	}
	return lanes
}

// laneRange returns what is to be read of a lane. Only lanes of which no record is
// dropped need no more than the limit. The lanes of an intersection are read in small batches,
// since the other lane tells what can be skipped.
func (q *query) laneRange(l *laneRead, p *plan, c *cursor) scan.Range {
	start := cursor{}
	if p.Union != nil && p.Union.Disjoint && !q.drops(p) {
		start.limit = c.limit
	}
	r := q.keyRange(l.plan, scan.EntriesOf(l.ix), &start)
	if p.Both != nil {
		r.Options.Mode = kv.ModeIterator
	}
	return r
}

// lanePosition is the position of a cursor in a union: after an entry of one lane.
type lanePosition struct {
	lane int
	key  []byte // of merged lanes, after the values with equality; of others, relative to the index
}

func (p lanePosition) bytes() []byte {
	return append([]byte{byte(p.lane >> 8), byte(p.lane)}, p.key...)
}

// readLanePosition returns the position that a cursor holds; ok is false if it holds none.
func readLanePosition(b []byte) (p lanePosition, ok bool) {
	if len(b) < 2 {
		return p, false
	}
	return lanePosition{int(b[0])<<8 | int(b[1]), b[2:]}, true
}

// isAfter reports whether the query reads a lane after that of the position.
func (p lanePosition) isAfter(lane int, reverse bool) bool {
	return lane != p.lane && lane > p.lane != reverse
}

// resumeLane narrows a lane to what is after the cursor. It returns false if that is
// nothing.
func (q *query) resumeLane(l *laneRead, p *plan, c *cursor) bool {
	b := &l.plan.Bounds
	if c.position == nil {
		return true
	}
	if p.Union == nil {
		*b = b.Resume(slices.Concat(b.EqualValues(), c.position), q.reverse)
		return true
	}
	at, ok := readLanePosition(c.position)
	switch {
	case !ok:
		return false
	case p.Union.Merged:
		l.resumeMerged(at, q.reverse)
	case l.number == at.lane:
		*b = b.Resume(at.key, q.reverse)
	default:
		return at.isAfter(l.number, q.reverse)
	}
	return true
}
