// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/pagetoken"
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
	return size, q.sealToken(last), nil
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

// sealToken returns the token of a cursor's position.
func (q *query) sealToken(c cursor) string {
	return pagetoken.Seal(q.place.db.tokenKey, q.tokenScope(), pagetoken.Position{Plan: c.plan, Key: c.position})
}

// openToken returns the cursor at a token's position.
func (q *query) openToken(token string) (c cursor, err error) {
	p, err := pagetoken.Open(q.place.db.tokenKey, q.tokenScope(), token)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	return cursor{plan: p.Plan, position: p.Key}, nil
}

// tokenScope returns what a token is bound to: path, type, direction, and the
// index and bounds of each plan.
func (q *query) tokenScope() (b []byte) {
	for _, name := range q.place.path {
		b = pagetoken.AppendFramed(b, []byte(name))
	}
	b = pagetoken.AppendFramed(b, []byte(q.record.Type))
	b = append(b, boolByte(q.reverse))
	for _, p := range append([]plan{q.plan}, q.others...) {
		b = q.appendPlan(b, &p)
	}
	return b
}

// appendPlan appends what a token is bound to of a plan.
func (q *query) appendPlan(b []byte, p *plan) []byte {
	if p.Union != nil {
		b = append(b, 'U', 2*boolByte(p.Union.Merged)) // 1: merged lanes of which the position does not tell which it is
		for i := range p.Union.Lanes {
			b = q.appendPlan(b, &p.Union.Lanes[i])
		}
		return appendConditions(b, p.Union.Alternatives)
	}
	name := ""
	if p.Index != byID {
		d := &q.record.Indexes[p.Index]
		name = d.KeyName() + ":" + d.Layout()
	}
	b = p.Bounds.AppendBytes(pagetoken.AppendFramed(b, []byte(name)))
	if p.Both != nil {
		b = q.appendPlan(append(b, 'B'), p.Both)
	}
	return appendConditions(b, p.Filter)
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
