// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

// find returns the query of the records that fulfil all conditions.
func (s *source) find(conditions []erased.Clause) (*erased.Query, error) {
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	plans, reason := planner.Plans(s.record.Indexes, conditions)
	if len(plans) == 0 {
		return nil, s.record.noIndex(conditions, reason)
	}
	return erased.NewQuery(erased.QuerySpec{Source: s.toErased(), Plan: plans[0], Others: plans[1:]}), nil
}
