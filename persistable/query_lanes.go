// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// scanLanes yields the records of a plan of several ranges.
func (q *query) scanLanes(ctx context.Context, t *transaction, o *openStore, begun indexScan, c *cursor, yield func(any, error) bool) {
	s := laneScan{query: q, plan: begun.plan, cursor: c, tx: t, store: o, lanes: begun.lanes, filter: q.newFilter(&begun.plan)}
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

// resumeLane narrows a lane to what is behind the cursor. It returns false if that is
// nothing.
func (q *query) resumeLane(l *laneRead, p *plan, c *cursor) bool {
	b := &l.plan.Bounds
	switch {
	case c.position == nil:
	case p.Union == nil || p.Union.Merged:
		*b = b.Resume(append(bytes.Clone(b.EqualValues()), c.position...), q.reverse)
	case len(c.position) < 2:
		return false
	default:
		at := int(c.position[0])<<8 | int(c.position[1])
		if l.number == at {
			*b = b.Resume(c.position[2:], q.reverse)
		}
		return l.number == at || l.number > at != q.reverse
	}
	return true
}
