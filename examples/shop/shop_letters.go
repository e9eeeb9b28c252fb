// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/examples/shop/v1"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

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
