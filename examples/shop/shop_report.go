// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/kazahana-db/kazahana/examples/shop/v1"
)

// report prints what the indexes know: however many orders there are, each line reads a few keys.
func (s *shop) report(ctx context.Context) error {
	s.say("\nCount, Sum and Max, which every write keeps:")
	for group, err := range s.orders.CountsByStatus(ctx) {
		if err != nil {
			return err
		}
		s.say("  %d %s", group.Count, group.Group)
	}
	paid, err := s.orders.SumTotalByStatus(ctx, v1.Paid)
	if err != nil {
		return err
	}
	largest, _, err := s.orders.MaxTotal(ctx)
	if err != nil {
		return err
	}
	s.say("  %d cents are paid, the largest order is of %d", paid, largest)
	return s.list(ctx)
}

// list prints paid orders from two indexes.
func (s *shop) list(ctx context.Context) error {
	s.say("The latest paid orders, as rows of the index alone:")
	for row, err := range s.orders.ByStatusPlacedAtRows(v1.Paid).Limit(2).All(ctx) {
		if err != nil {
			return err
		}
		s.say("  %s: %d", row.Number, row.Total)
	}
	next, err := s.orders.OrderedByPlacedAtWhereUnshipped().First(ctx)
	if err != nil {
		return err
	}
	s.say("To be packed next, by a partial index, which has only paid orders: %s.", next.Number)
	return nil
}
