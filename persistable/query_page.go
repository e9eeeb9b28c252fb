// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/pagetoken"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

// page calls take with each record of the page behind a token, and with one more if
// there is one: size is the maximum number of records of the page. It returns the
// token of the next page, empty on the last one.
func (q *query) page(ctx context.Context, token string, take func(any)) (size int, next string, err error) {
	ctx, o := q.begin(ctx, "Page", q.plan.Index)
	defer o.finish(&err)
	if err := q.checkUsable(); err != nil {
		return 0, "", err
	}
	var from cursor
	if token != "" {
		if from, err = q.openToken(token); err != nil {
			return 0, "", err
		}
	}
	size = min(orDefault(q.limit, q.place.db.options.PageSize), maxPage)
	from.limit = size + 1 // one more tells whether there is a next page
	last, more, err := q.pageFrom(ctx, from, size, take)
	if err != nil || !more {
		return size, "", err
	}
	return size, q.sealPosition(nil, last.plan, last.position), nil
}

// maxPage leaves room for one more in the limit of a range read, which FoundationDB
// has as an int32.
const maxPage = math.MaxInt32 - 1

// pageFrom calls take with the records of a page and one more. It returns the
// position of the page's last record, and whether there was one more.
func (q *query) pageFrom(ctx context.Context, from cursor, size int, take func(any)) (last cursor, more bool, err error) {
	n := 0
	err = q.readOneVersion(ctx, from, func() { n = 0; take(nil) }, func(t *transaction, c *cursor) error {
		for v, err := range q.records(ctx, t, c) {
			if err != nil {
				return err
			}
			take(v)
			if n++; n == size {
				last = *c
			}
		}
		return nil
	})
	return last, n > size, err
}

// openToken returns the cursor at a page token's position.
func (q *query) openToken(token string) (cursor, error) {
	p, key, err := q.openPosition(nil, token)
	if err != nil {
		return cursor{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	return cursor{plan: p, position: key}, nil
}

// sealPosition returns the token of a position of the query, read by a plan. kind tells
// tokens of pages and scans apart.
func (q *query) sealPosition(kind []byte, p *plan, key []byte) string {
	at := pagetoken.Position{Format: pagetoken.Numbered, Plan: []byte{boolByte(p != nil)}, Key: key}
	if q.search != nil {
		at.Format, at.Plan = pagetoken.Named, q.appendWays(nil, p)
	}
	return pagetoken.Seal(q.place.db.tokenKey, q.tokenScope(kind, p), at)
}

// openPosition returns the plan of a token, nil if it was made before one was chosen, and the
// position.
func (q *query) openPosition(kind []byte, token string) (p *plan, key []byte, err error) {
	at, err := pagetoken.Open(q.place.db.tokenKey, token, func(at pagetoken.Position) (scope []byte, err error) {
		switch {
		case q.search == nil:
			p = &q.plan
			return pagetoken.Only(q.tokenScope(kind, p))(at)
		case at.Format == pagetoken.Numbered:
			p, scope, err = q.oldScope(kind, at.Plan[0])
		default:
			p, err = q.planOf(at.Plan)
			scope = q.tokenScope(kind, p)
		}
		return scope, err
	})
	return p, at.Key, err
}

// tokenScope returns what a token is bound to: path, type, direction, the conditions of Find,
// and the plan by which the query is read.
func (q *query) tokenScope(kind []byte, p *plan) (b []byte) {
	b = q.appendPlace(nil)
	if q.search == nil {
		b = q.appendPlan(b, &q.plan)
	} else {
		b = appendConditions(b, q.search.Question)
		if p != nil {
			b = q.appendPlan(b, p)
		}
	}
	return ofKind(kind, b)
}

func ofKind(kind, scope []byte) []byte {
	if kind == nil {
		return scope
	}
	return pagetoken.AppendFramed(slices.Clone(kind), scope)
}

func (q *query) appendPlace(b []byte) []byte {
	for _, name := range q.place.path {
		b = pagetoken.AppendFramed(b, []byte(name))
	}
	b = pagetoken.AppendFramed(b, []byte(q.record.Type))
	return append(b, boolByte(q.reverse))
}

// mostOldPlans is how many plans by indexes a query had at most when tokens had their number.
const mostOldPlans = 250

// oldScope returns the plan of a token of Find that has its number, and what that was bound to:
// all plans that there were.
func (q *query) oldScope(kind []byte, number byte) (p *plan, scope []byte, err error) {
	if len(q.search.Question) > 1 {
		return nil, nil, errors.New("an earlier version of this library made it for a query with alternatives: begin with the first page")
	}
	var all []*plan
	for _, lane := range q.search.Lanes {
		for i := range lane[:min(len(lane), mostOldPlans)] {
			all = append(all, &lane[i])
		}
	}
	if q.search.Scan != nil {
		all = append(all, q.search.Scan)
	}
	scope = q.appendPlace(nil)
	for _, one := range all {
		scope = q.appendPlan(scope, one)
	}
	switch {
	case int(number) > len(all):
		return nil, nil, pagetoken.ErrForeign
	case number > 0:
		p = all[number-1]
	}
	return p, ofKind(kind, scope), nil
}

// appendPlan appends what a token is bound to of a plan.
func (q *query) appendPlan(b []byte, p *plan) []byte {
	if p.Union != nil {
		b = append(b, 'U', boolByte(p.Union.Merged))
		for i := range p.Union.Lanes {
			b = q.appendPlan(b, &p.Union.Lanes[i])
		}
		return appendConditions(b, p.Union.Alternatives)
	}
	b = p.Bounds.AppendBytes(pagetoken.AppendFramed(b, q.indexName(p.Index)))
	if p.Both != nil {
		b = q.appendPlan(append(b, 'B'), p.Both)
	}
	return appendConditions(b, p.Filter)
}

// The plan of a token names its ways, so that it is found among those of another program.
const (
	bySearch = 1 // for each run of alternatives with one way: how many, and the name
	byScan   = 2
)

// nameSize is the size of the name of a way: enough to tell those of an alternative apart. The
// whole plan is in the scope.
const nameSize = 4

// appendWays appends what tells a plan of Find from others; nothing for none.
func (q *query) appendWays(b []byte, p *plan) []byte {
	switch {
	case p == nil:
		return b
	case p == q.search.Scan:
		return append(b, byScan)
	}
	b = append(b, bySearch)
	lanes := []plan{*p}
	if p.Union != nil {
		lanes = p.Union.Lanes
	}
	for len(lanes) > 0 {
		name := q.nameOf(&lanes[0])
		n := slices.IndexFunc(lanes, func(lane plan) bool { return q.nameOf(&lane) != name })
		if n < 0 {
			n = len(lanes)
		}
		b = append(binary.AppendUvarint(b, uint64(n)), name[:]...)
		lanes = lanes[n:]
	}
	return b
}

// nameOf returns the name of a way: a hash of the indexes that it reads.
func (q *query) nameOf(p *plan) (name [nameSize]byte) {
	b := q.indexName(p.Index)
	if p.Both != nil {
		b = append(append(b, 0), q.indexName(p.Both.Index)...)
	}
	hash := sha256.Sum256(b)
	copy(name[:], hash[:])
	return name
}

// indexName returns the name of an index in tokens; it is empty for the records themselves.
func (q *query) indexName(i int) []byte {
	if i == byID {
		return nil
	}
	d := &q.record.Indexes[i]
	return []byte(d.KeyName() + ":" + d.Layout())
}

// planOf returns the plan with the ways that a token names, nil if it names none.
func (q *query) planOf(ways []byte) (*plan, error) {
	switch {
	case len(ways) == 0:
		return nil, nil
	case ways[0] == byScan && q.search.Scan != nil:
		return q.search.Scan, nil
	case ways[0] != bySearch:
		return nil, pagetoken.ErrForeign
	}
	var lanes []*plan
	for b := ways[1:]; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 || len(b) < size+nameSize || n > uint64(len(q.search.Lanes)-len(lanes)) {
			return nil, pagetoken.ErrForeign
		}
		for range n {
			way, err := q.wayNamed(q.search.Lanes[len(lanes)], [nameSize]byte(b[size:]))
			if err != nil {
				return nil, err
			}
			lanes = append(lanes, way)
		}
		b = b[size+nameSize:]
	}
	if len(lanes) == 0 || len(lanes) != len(q.search.Lanes) {
		return nil, pagetoken.ErrForeign
	}
	return planner.Combine(q.record.Indexes, q.search, lanes), nil
}

func (q *query) wayNamed(ways []plan, name [nameSize]byte) (*plan, error) {
	i := slices.IndexFunc(ways, func(way plan) bool { return q.nameOf(&way) == name })
	if i < 0 {
		return nil, errors.New("it belongs to another query, or to an index that the type does not have: begin with the first page")
	}
	return &ways[i], nil
}

// appendConditions appends what a token is bound to of a filter.
func appendConditions(b []byte, alternatives []erased.Conjunction) []byte {
	for _, clauses := range alternatives {
		b = append(b, 'A')
		for _, c := range clauses {
			b = pagetoken.AppendFramed(append(b, 'C', byte(c.Comparison)), []byte(c.Field))
			b = pagetoken.AppendFramed(b, c.Value)
		}
	}
	return b
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
