// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// scanLanes yields the records of a plan of several ranges.
func (q *query) scanLanes(ctx context.Context, t *transaction, o *openStore, begun indexScan, c *cursor, yield func(any, error) bool) {
	s := laneScan{query: q, plan: begun.plan, cursor: c, tx: t, store: o, lanes: begun.lanes, filter: q.newFilter(&begun.plan), window: newRecordWindow()}
	defer s.close()
	if t.Writes != nil {
		s.writes = t.Count.Load()
	}
	for !s.isAtEnd() {
		batch, err := s.takeBatch(ctx)
		if !s.emitBatch(ctx, batch, yield) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
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
// dropped need no more than the limit.
func (q *query) laneRange(l *laneRead, p *plan, c *cursor) scan.Range {
	start := cursor{}
	if p.Union != nil && p.Union.Disjoint && !p.Drops() {
		start.limit = c.limit
	}
	return q.keyRange(l.plan, scan.EntriesOf(l.ix), &start)
}

// lanePosition is the position of a cursor in a union: behind an entry of one lane.
type lanePosition struct {
	lane int
	key  []byte // of merged lanes, behind the values with equality; of others, relative to the index
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

// isBehind reports whether the query reads a lane behind that of the position.
func (p lanePosition) isBehind(lane int, reverse bool) bool {
	return lane != p.lane && lane > p.lane != reverse
}

// resumeLane narrows a lane to what is behind the cursor. It returns false if that is
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
		return at.isBehind(l.number, q.reverse)
	}
	return true
}
