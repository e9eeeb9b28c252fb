// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/examples/shop/v1"
	"github.com/kazahana-db/kazahana/persistable"
)

// edit lets two clerks edit one order, of which both have read the same version.
func (s *shop) edit(ctx context.Context) error {
	mine, err := s.orders.ByStatusPlacedAt(v1.Placed).First(ctx)
	if err != nil {
		return err
	}
	hers, err := s.orders.Get(ctx, mine.ID)
	if err != nil {
		return err
	}
	customer, err := s.customers.Get(ctx, mine.Customer)
	if err != nil {
		return err
	}
	hers.Note = "Ring twice."
	if err := s.orders.SaveIfVersion(ctx, hers.Version, hers); err != nil {
		return err
	}
	mine.Note = "Deliver on Monday."
	if err := s.orders.SaveIfVersion(ctx, mine.Version, mine); !errors.Is(err, persistable.ErrChanged) {
		return fmt.Errorf("the second clerk should have been refused: %w", err)
	}
	s.say("SaveIfVersion: of two clerks with one version of order %s the second is refused, and has to read it again.", mine.Number)
	return s.awaitLetters(ctx, customer.ID, customer.Letters+1)
}
