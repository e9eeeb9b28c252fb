// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"
)

// split divides what is left of the scan into at most n parts.
func (r *scanRun) split(ctx context.Context, n int) (parts []*scanRun, err error) {
	ctx, op := r.query.begin(ctx, "Split", r.query.plan.Index)
	defer op.finish(&err)
	switch {
	case r.err != nil:
		return nil, r.err
	case n < 1:
		return nil, fmt.Errorf("persistable: %s: a scan cannot be divided into %d parts: ask for at least one", r.query.record.Type, n)
	case r.query.limit > 0:
		return nil, fmt.Errorf("persistable: %s: a scan with a limit cannot be divided: ask for the query without Limit", r.query.record.Type)
	case r.ended:
		return []*scanRun{r.copy()}, nil
	}
	points, c, err := r.readSplitPoints(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.divide(points, c), nil
}

func (r *scanRun) copy() *scanRun {
	next := *r
	return &next
}

// readSplitPoints returns where to divide what is left, and the cursor with the plan to
// which these keys belong.
func (r *scanRun) readSplitPoints(ctx context.Context, n int) (points [][]byte, c cursor, err error) {
	q := r.part()
	err = q.runRead(ctx, func(t *transaction) error {
		points, c = nil, r.cursor
		o, err := t.openStore(ctx, q.place)
		if err != nil || o == nil {
			return err
		}
		p, err := q.choosePlan(o, &c)
		if err != nil || p.Union != nil || p.Both != nil {
			return err
		}
		s := newSplitter(o, p, q.keyRange(*p, o.keysOf(p), &c).Bounds)
		points, err = s.points(ctx, t.Reader, n)
		return err
	})
	return points, c, err
}

// divide returns the parts between the points, which are behind the cursor.
func (r *scanRun) divide(points [][]byte, c cursor) (parts []*scanRun) {
	edges := slices.Concat([][]byte{r.from}, points, [][]byte{r.before})
	for i := range len(edges) - 1 {
		part := r.copy()
		part.from, part.before = edges[i], edges[i+1]
		part.cursor = cursor{plan: c.plan}
		parts = append(parts, part)
	}
	if r.query.reverse {
		slices.Reverse(parts)
	}
	parts[0].cursor = c
	return parts
}
