// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/examples/shop/v1"
	"github.com/kazahana-db/kazahana/examples/shop/v2"
	"github.com/kazahana-db/kazahana/persistable"
)

// upgrade starts the second program: it builds its new index in every shop, while the
// first program takes orders.
func (s *shop) upgrade(ctx context.Context) error {
	orders := v2.OrderStoreOf(s.db, s.name)
	_, err := orders.ByCurrencyTotal("EUR").Count(ctx)
	if errors.Is(err, persistable.ErrNotBuilt) {
		s.say("\nThe second program cannot use its new index yet: %v.", err)
	} else if err != nil {
		return err
	} else {
		s.say("\nAn earlier run has built the second program's index; the first program has maintained it since.")
	}
	first := make(chan error, 1)
	go func() { first <- s.sellMore(ctx) }()
	if err := errors.Join(buildIndexes(ctx, s.db), <-first); err != nil {
		return err
	}
	s.say("Indexes().Build: done in every shop, while the first program took five orders.")
	return s.compare(ctx, orders)
}

// buildIndexes builds what is not built yet. If it is interrupted, the next call goes on.
func buildIndexes(ctx context.Context, db *persistable.DB) error {
	shops, err := db.ListDirectory(ctx, "shops")
	if err != nil {
		return err
	}
	for _, name := range shops {
		if err := v2.OrderStoreOf(db, name).Indexes().Build(ctx, persistable.BuildOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// sellMore is the first program, which knows nothing of the new index.
func (s *shop) sellMore(ctx context.Context) error {
	for i := range 5 {
		cy, err := s.order(ctx, "cy@example.com", int64(100+i))
		if err == nil {
			err = s.awaitLetters(ctx, cy.ID, cy.Letters+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compare shows that each program keeps what the other one writes.
func (s *shop) compare(ctx context.Context, orders *v2.OrderStore) error {
	o, err := s.orderInDollars(ctx, orders)
	if err != nil {
		return err
	}
	s.say("The first program took the money for an order of the second, and kept what it does not know: %s.", o.Currency)
	n, err := orders.ByCurrencyTotal("EUR").Count(ctx)
	if err != nil {
		return err
	}
	report, err := orders.Indexes().Verify(ctx, persistable.VerifyOptions{})
	s.say("By the new index %d orders are in EUR, the default of older orders.", n)
	s.say("Indexes().Verify: %d records, %d faults.", report.Records, len(report.Faults))
	return err
}

// orderInDollars stores an order by the second program, and changes it by the first.
func (s *shop) orderInDollars(ctx context.Context, orders *v2.OrderStore) (*v2.Order, error) {
	eve, _, err := s.customers.GetOrCreate(ctx, s.customers.New(v1.Customer{Email: "eve@example.com"}))
	if err != nil {
		return nil, err
	}
	n, err := orders.CountAll(ctx)
	if err != nil {
		return nil, err
	}
	o := orders.New(v2.Order{
		Number: fmt.Sprint(1001 + n), Customer: eve.ID, Items: 2, Total: 900, Currency: "USD", Remark: "A gift.", PlacedAt: time.Now(),
	})
	if err := orders.Create(ctx, o); err != nil {
		return nil, err
	}
	if err := s.awaitLetters(ctx, eve.ID, eve.Letters+1); err != nil {
		return nil, err
	}
	if err := s.pay(ctx, o.ID); err != nil {
		return nil, err
	}
	if err := s.awaitLetters(ctx, eve.ID, eve.Letters+2); err != nil {
		return nil, err
	}
	return orders.Get(ctx, o.ID)
}
