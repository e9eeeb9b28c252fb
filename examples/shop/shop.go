// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/shop/v1"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// shop is a tenant. Its stores reach no record of another shop.
type shop struct {
	out       io.Writer
	db        *persistable.DB
	name      string
	orders    *v1.OrderStore
	customers *v1.CustomerStore
	letters   *v1.LetterStore
}

func openShop(db *persistable.DB, name string, out io.Writer) *shop {
	return &shop{out, db, name, v1.OrderStoreOf(db, name), v1.CustomerStoreOf(db, name), v1.LetterStoreOf(db, name)}
}

func (s *shop) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// spendDay is a day of the shop. Its mailer runs beside it.
func (s *shop) spendDay(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.sell, s.edit, s.report, s.upgrade, s.send} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// order stores an order for each of the totals. With the first one the sender becomes a customer.
func (s *shop) order(ctx context.Context, email string, totals ...int64) (*v1.Customer, error) {
	// Two calls at once with one email get one customer: it is unique.
	customer, _, err := s.customers.GetOrCreate(ctx, s.customers.New(v1.Customer{Email: email}))
	if err != nil {
		return nil, err
	}
	n, err := s.orders.CountAll(ctx)
	if err != nil {
		return nil, err
	}
	var orders []*v1.Order
	for i, total := range totals {
		orders = append(orders, s.orders.New(v1.Order{
			Number: fmt.Sprint(1001 + n + int64(i)), Customer: customer.ID, Items: 1, Total: total,
			PlacedAt: time.Now().Add(time.Duration(i) * time.Microsecond),
		}))
	}
	return customer, s.orders.CreateMany(ctx, orders, persistable.BatchOptions{})
}

// sell takes three orders, and the money for two.
func (s *shop) sell(ctx context.Context) error {
	ada, err := s.order(ctx, "ada@example.com", 1200, 800, 4000)
	if err != nil {
		return err
	}
	s.say("CreateMany stored three orders of %s.", ada.Email)
	if err := s.awaitLetters(ctx, ada.ID, ada.Letters+3); err != nil {
		return err
	}
	latest, err := s.orders.ByStatusPlacedAt(v1.Placed).Limit(2).Slice(ctx)
	if err != nil {
		return err
	}
	for _, o := range latest {
		if err := s.pay(ctx, o.ID); err != nil {
			return err
		}
	}
	return s.awaitLetters(ctx, ada.ID, ada.Letters+5)
}

// pay reads, changes and saves an order in one transaction, which may run again.
func (s *shop) pay(ctx context.Context, id idgen.ID) error {
	return s.orders.Update(ctx, id, func(o *v1.Order) error {
		o.Status = v1.Paid
		return nil
	})
}
