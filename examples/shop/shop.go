// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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

// spendDay is a day of the shop. The mailer runs at the same time.
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

// writeLetters puts a letter into the outbox for each change of an order, exactly once,
// whatever crashes: the transaction that does so also moves the consumer's position.
// Any number of processes may do it at once.
func (s *shop) writeLetters(ctx context.Context) error {
	return s.orders.Feed().Consumer("mail").Run(ctx, func(tx persistable.Tx, changes []persistable.Change[*v1.Order, idgen.ID]) error {
		for _, c := range changes {
			if c.Deleted {
				continue
			}
			if err := s.writeLetter(ctx, tx, c.Record); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLetter writes in the transaction tx: hence In, of each store.
func (s *shop) writeLetter(ctx context.Context, tx persistable.Tx, o *v1.Order) error {
	text := strings.TrimSpace(fmt.Sprintf("Your order %s is %s. %s", o.Number, o.Status, o.Note))
	//persistvet:ignore freshvalue the consumer commits its position with the letter: only one attempt can
	letter := s.letters.New(v1.Letter{Customer: o.Customer, Text: text})
	if err := s.letters.In(tx).Create(ctx, letter); err != nil {
		return err
	}
	return s.customers.In(tx).Update(ctx, o.Customer, func(c *v1.Customer) error {
		c.Letters++
		return nil
	})
}

// awaitLetters waits until a customer has so many letters. It does not poll: the database tells
// it of changes.
func (s *shop) awaitLetters(ctx context.Context, customer idgen.ID, n int64) error {
	for c, err := range s.customers.Watch(ctx, customer) {
		if err != nil {
			return err
		}
		if c != nil && c.Letters >= n {
			break
		}
	}
	return nil
}

// send empties the outbox. A letter that is sent just before a crash is sent again: what is outside
// of the database happens at least once.
func (s *shop) send(ctx context.Context) error {
	s.say("\nThe consumer \"mail\" of the change feed has written these letters:")
	for letter, err := range s.letters.Scan().All(ctx) {
		if err != nil {
			return err
		}
		s.say("  %s", letter.Text)
		if err := s.letters.Delete(ctx, letter.ID); err != nil {
			return err
		}
	}
	return nil
}
