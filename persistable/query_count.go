// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

func (q *query) count(ctx context.Context) (n int, err error) {
	if groups := q.countGroups(); groups != nil {
		if n, found, err := q.readCount(ctx, groups); found || err != nil {
			return n, err
		}
	}
	if q.needsRecords() {
		return q.countRecords(ctx)
	}
	ctx, o := q.begin(ctx, "Count", q.plan.Index)
	defer o.finish(&err)
	defer q.nameEnded(ctx, "Count", nil, nil, &err)
	err = q.readOneVersion(ctx, cursor{limit: q.limit}, func() { n = 0 }, func(t *transaction, c *cursor) error {
		for _, err := range q.keys(ctx, t, c) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// needsRecords reports whether some plan must look at records, or at several ranges, to
// count them.
func (q *query) needsRecords() bool {
	needs := func(p plan) bool {
		return p.Filter != nil || q.dropsDeleted(&p) || p.Union != nil || p.Both != nil || p.Words != nil && p.Words.Phrase
	}
	return needs(q.plan) || q.search != nil && (q.search.Scan != nil || slices.ContainsFunc(q.search.Lanes[0], needs))
}

// countRecords is count for plans that need the records.
func (q *query) countRecords(ctx context.Context) (n int, err error) {
	_, err = q.collectRecords(ctx, func(v any) {
		if n++; v == nil {
			n = 0
		}
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// countGroups returns the groups of Count indexes whose numbers together are that of the
// query's records; nil if there are none.
func (q *query) countGroups() []planner.Group {
	switch {
	case q.place == nil || q.err != nil || q.rows:
		return nil
	case q.search != nil:
		return planner.CountGroups(q.record.Indexes, q.search, q.hidden())
	}
	return planner.CountGroupsOf(q.record.Indexes, &q.plan, q.hidden())
}

// readCount returns the sum of the numbers of groups, up to the limit. found is false if an index
// is not complete.
func (q *query) readCount(ctx context.Context, groups []planner.Group) (n int, found bool, err error) {
	ctx, op := q.begin(ctx, "Count", groups[0].Index)
	defer op.finish(&err)
	defer q.nameEnded(ctx, "Count", nil, nil, &err)
	err = q.runRead(ctx, func(t *transaction) error {
		n, found = 0, true
		o, err := t.openStore(ctx, q.place)
		if err != nil || o == nil {
			return err
		}
		if found = areReadable(o, groups); !found {
			return nil
		}
		n, err = q.sumGroups(ctx, t, o, groups)
		return err
	})
	if err != nil || !found {
		return 0, false, err
	}
	if q.limit > 0 {
		n = min(n, q.limit)
	}
	return n, true, nil
}

// areReadable reports whether the indexes of all groups are complete.
func areReadable(o *openStore, groups []planner.Group) bool {
	return !slices.ContainsFunc(groups, func(g planner.Group) bool { return o.indexes[g.Index].State != index.Readable })
}

// sumGroups reads the numbers of groups, all in one round.
func (q *query) sumGroups(ctx context.Context, t *transaction, o *openStore, groups []planner.Group) (sum int, err error) {
	reads := make([]kv.Future[[]byte], len(groups))
	for i, g := range groups {
		reads[i] = t.Reader.Get(slices.Concat(o.indexes[g.Index].Prefix, g.Values))
	}
	for i, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return 0, err
		}
		n, err := index.ReadCount(value)
		if err != nil {
			return 0, q.damagedGroup(groups[i].Index, groups[i].Values, err)
		}
		sum += int(min(n, math.MaxInt))
	}
	return sum, nil
}
