// SPDX-License-Identifier: Apache-2.0

package persistable

import (
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
	plans, reason := planner.Plans(planner.Request{
		Indexes: s.record.Indexes, Alternatives: alternatives, CanFilter: s.record.Values != nil, AllowScan: s.allowScan,
	})
	if len(plans) == 0 {
		return nil, s.record.noIndex(alternatives, reason)
	}
	spec := erased.QuerySpec{Source: s.toErased(), Plan: plans[0], Others: plans[1:]}
	if len(alternatives) == 1 {
		spec.Wanted = alternatives[0]
	}
	return erased.NewQuery(spec), nil
}
