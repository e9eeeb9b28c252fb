// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

// find returns the query of the records that fulfil all conditions.
func (s *source) find(conditions []erased.Condition) (*erased.Query, error) {
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	all := erased.AllOf(conditions)
	alternatives, ok := all.Alternatives()
	if !ok {
		return nil, ErrTooManyAlternatives
	}
	spec := erased.QuerySpec{Source: s.toErased()}
	if len(alternatives) == 0 { // In of no values
		spec.Plan = erased.Plan{Index: byID, Bounds: index.Bounds{}.EndBefore([]byte{})}
		return erased.NewQuery(spec), nil
	}
	search, reason := planner.Search(planner.Request{
		Indexes: s.record.Indexes, Alternatives: alternatives, CanFilter: s.record.Values != nil, AllowScan: s.allowScan,
	})
	if search == nil {
		return nil, s.record.noIndex(alternatives, reason)
	}
	best, _ := s.record.firstPlan(search, func(*plan) error { return nil })
	spec.Search, spec.Plan = search, *best
	if len(alternatives) == 1 {
		spec.Wanted = alternatives[0]
	}
	return erased.NewQuery(spec), nil
}
