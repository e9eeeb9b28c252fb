// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/pagetoken"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

// queryTokens makes the tokens of a query's positions, and reads them.
type queryTokens struct {
	*query
	kind []byte // tells tokens of scans from those of pages, which have none
}

// seal returns the token of a position of the query, read by a plan. From there a page goes on
// in the direction of the query, or backward.
func (t queryTokens) seal(p *plan, key []byte, backward bool) string {
	at := pagetoken.Position{Format: pagetoken.Numbered, Backward: backward, Plan: []byte{boolByte(p != nil)}, Key: key}
	if t.search != nil {
		at.Format, at.Plan = pagetoken.Named, t.appendWays(nil, p)
	}
	return pagetoken.Seal(t.place.db.tokenKey, t.scope(p), at)
}

// open returns the plan of a token, nil if it was made before one was chosen, the position,
// and whether a page goes on from there backward.
func (t queryTokens) open(token string) (p *plan, key []byte, backward bool, err error) {
	at, err := pagetoken.Open(t.place.db.tokenKey, token, func(at pagetoken.Position) (scope []byte, err error) {
		switch {
		case t.search == nil:
			p = &t.plan
			return pagetoken.Only(t.scope(p))(at)
		case at.Format == pagetoken.Numbered:
			p, scope, err = t.oldScope(at.Plan[0])
		default:
			p, err = t.planOf(at.Plan)
			scope = t.scope(p)
		}
		return scope, err
	})
	return p, at.Key, at.Backward, err
}

// scope returns what a token is bound to: path, type, direction, the conditions of Find,
// and the plan by which the query is read.
func (t queryTokens) scope(p *plan) (b []byte) {
	b = t.appendPlace(nil)
	if t.search == nil {
		b = t.appendPlan(b, &t.plan)
	} else {
		b = appendConditions(b, t.search.Question)
		if p != nil {
			b = t.appendPlan(b, p)
		}
	}
	return t.ofKind(b)
}

func (t queryTokens) ofKind(scope []byte) []byte {
	if t.kind == nil {
		return scope
	}
	return pagetoken.AppendFramed(slices.Clone(t.kind), scope)
}

func (t queryTokens) appendPlace(b []byte) []byte {
	for _, name := range t.place.path {
		b = pagetoken.AppendFramed(b, []byte(name))
	}
	b = pagetoken.AppendFramed(b, []byte(t.record.Type))
	if b = append(b, boolByte(t.reverse)); t.withDeleted {
		b = append(b, 'D')
	}
	return b
}

// mostOldPlans is how many plans by indexes a query had at most when tokens had their number.
const mostOldPlans = 250

// oldScope returns the plan of a token of Find that has its number, and what that was bound to:
// all plans that there were.
func (t queryTokens) oldScope(number byte) (p *plan, scope []byte, err error) {
	if len(t.search.Question) > 1 {
		return nil, nil, errors.New("an earlier version of this library made it for a query with alternatives: begin with the first page")
	}
	var all []*plan
	for _, lane := range t.search.Lanes {
		for i := range lane[:min(len(lane), mostOldPlans)] {
			all = append(all, &lane[i])
		}
	}
	if t.search.Scan != nil {
		all = append(all, t.search.Scan)
	}
	scope = t.appendPlace(nil)
	for _, one := range all {
		scope = t.appendPlan(scope, one)
	}
	switch {
	case int(number) > len(all):
		return nil, nil, pagetoken.ErrForeign
	case number > 0:
		p = all[number-1]
	}
	return p, t.ofKind(scope), nil
}

// appendPlan appends what a token is bound to of a plan.
func (t queryTokens) appendPlan(b []byte, p *plan) []byte {
	if p.Union != nil {
		b = append(b, 'U', boolByte(p.Union.Merged))
		for i := range p.Union.Lanes {
			b = t.appendPlan(b, &p.Union.Lanes[i])
		}
		return appendConditions(b, p.Union.Alternatives)
	}
	b = p.Bounds.AppendBytes(pagetoken.AppendFramed(b, t.indexName(p.Index)))
	if p.Both != nil {
		b = t.appendPlan(append(b, 'B'), p.Both)
	}
	if p.Words != nil {
		b = p.Words.AppendBytes(append(b, 'W'))
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
func (t queryTokens) appendWays(b []byte, p *plan) []byte {
	switch {
	case p == nil:
		return b
	case p == t.search.Scan:
		return append(b, byScan)
	}
	b = append(b, bySearch)
	lanes := []plan{*p}
	if p.Union != nil {
		lanes = p.Union.Lanes
	}
	for len(lanes) > 0 {
		name := t.nameOf(&lanes[0])
		n := slices.IndexFunc(lanes, func(lane plan) bool { return t.nameOf(&lane) != name })
		if n < 0 {
			n = len(lanes)
		}
		b = append(binary.AppendUvarint(b, uint64(n)), name[:]...)
		lanes = lanes[n:]
	}
	return b
}

// nameOf returns the name of a way: a hash of the indexes that it reads.
func (t queryTokens) nameOf(p *plan) (name [nameSize]byte) {
	b := t.indexName(p.Index)
	if p.Both != nil {
		b = append(append(b, 0), t.indexName(p.Both.Index)...)
	}
	hash := sha256.Sum256(b)
	copy(name[:], hash[:])
	return name
}

// indexName returns the name of an index in tokens; it is empty for the records themselves.
func (t queryTokens) indexName(i int) []byte {
	if i == byID {
		return nil
	}
	d := &t.record.Indexes[i]
	return []byte(d.KeyName() + ":" + d.Layout())
}

// planOf returns the plan with the ways that a token names, nil if it names none.
func (t queryTokens) planOf(ways []byte) (*plan, error) {
	switch {
	case len(ways) == 0:
		return nil, nil
	case ways[0] == byScan && t.search.Scan != nil:
		return t.search.Scan, nil
	case ways[0] != bySearch:
		return nil, pagetoken.ErrForeign
	}
	var lanes []*plan
	for b := ways[1:]; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 || len(b) < size+nameSize || n > uint64(len(t.search.Lanes)-len(lanes)) {
			return nil, pagetoken.ErrForeign
		}
		for range n {
			way, err := t.wayNamed(t.search.Lanes[len(lanes)], [nameSize]byte(b[size:]))
			if err != nil {
				return nil, err
			}
			lanes = append(lanes, way)
		}
		b = b[size+nameSize:]
	}
	if len(lanes) == 0 || len(lanes) != len(t.search.Lanes) {
		return nil, pagetoken.ErrForeign
	}
	return planner.Combine(t.record.Indexes, t.search, lanes), nil
}

func (t queryTokens) wayNamed(ways []plan, name [nameSize]byte) (*plan, error) {
	i := slices.IndexFunc(ways, func(way plan) bool { return t.nameOf(&way) == name })
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

// maintenanceTokens makes the tokens of positions in a long operation on a store, and reads them.
type maintenanceTokens struct {
	*source
	operation string
}

// seal returns the token of a position.
func (t maintenanceTokens) seal(position []byte) string {
	return pagetoken.Seal(t.place.db.tokenKey, t.scope(), pagetoken.Position{Format: pagetoken.Numbered, Plan: []byte{1}, Key: position})
}

// open returns the position of a token, nil for the empty one.
func (t maintenanceTokens) open(token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	p, err := pagetoken.Open(t.place.db.tokenKey, token, pagetoken.Only(t.scope()))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %w", ErrBadToken, t.record.Type, t.operation, err)
	}
	return p.Key, nil
}

// scope is what a token is bound to: operation, type and directory.
func (t maintenanceTokens) scope() []byte {
	b := pagetoken.AppendFramed([]byte("maintenance"), []byte(t.operation))
	b = pagetoken.AppendFramed(b, []byte(t.record.Type))
	for _, element := range t.place.path {
		b = pagetoken.AppendFramed(b, []byte(element))
	}
	return b
}
