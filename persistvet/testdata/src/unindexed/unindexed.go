// SPDX-License-Identifier: Apache-2.0

package unindexed

import (
	"context"

	"example.com/shop"
	"github.com/kazahana-db/kazahana/persistable"
)

func served(ctx context.Context, orders *shop.OrderStore, tx persistable.Tx, conditions []persistable.Condition[*shop.Order]) {
	orders.Find(shop.OrderFields.Status.Equal(1))
	orders.Find(shop.OrderFields.Status.From(1))
	orders.Find(shop.OrderFields.Amount.From(1), shop.OrderFields.Status.Equal(1)) // with a filter
	orders.In(tx).Find(shop.OrderFields.Status.In(1, 2), shop.OrderFields.Placed.Before(3))
	orders.FindOne(ctx, shop.OrderFields.Number.Equal("A"))
	orders.Find(persistable.HasPrefix(shop.OrderFields.Number, "A"))
	orders.Find(shop.OrderFields.Customer.City.Equal("Wien"))
	orders.Find(shop.OrderFields.Note.Equal("x"), shop.OrderFields.Weight.From(1)) // may imply Weight>0
	orders.Find(persistable.Or(shop.OrderFields.Status.Equal(1), shop.OrderFields.Number.Equal("A")))
	orders.AllowScan().Find(shop.OrderFields.Amount.From(1))
	orders.Find(conditions...)
	orders.Find(shop.OrderFields.ID.From(1))
	orders.Find(shop.OrderFields.ID.From(1), shop.OrderFields.Amount.From(1)) // with a filter
	condition := shop.OrderFields.Amount.Equal(1)
	orders.Find(condition)
	orders.Find(shop.OrderFields.Placed.Equal(1), shop.OrderFields.Tags.Equal("a"))
}

func unserved(ctx context.Context, orders *shop.OrderStore, tx persistable.Tx) {
	orders.Find(shop.OrderFields.Amount.From(1))                                                    // want "no index of Order serves the conditions on Amount: Find returns a persistable.ErrNoIndex. Declare an index.*AllowScan"
	orders.FindOne(ctx, shop.OrderFields.Note.Equal("x"))                                           // want "conditions on Note: FindOne"
	orders.In(tx).Find(shop.OrderFields.Amount.Before(1), shop.OrderFields.Tags.Equal("a"))         // want "conditions on Tags, Amount"
	orders.Find(persistable.Or(shop.OrderFields.Status.Equal(1), shop.OrderFields.Amount.Equal(1))) // want "conditions on Amount"
	orders.Find(persistable.And(shop.OrderFields.Amount.Equal(1), shop.OrderFields.Note.Equal("x")), shop.OrderFields.Status.Equal(1))
	orders.Find(shop.OrderFields.Number.Before("A"))               // want "conditions on Number"
	orders.Find(persistable.HasPrefix(shop.OrderFields.Note, "A")) // want "conditions on Note"
	orders.Find(shop.OrderFields.Placed.Equal(1))                  // want "conditions on Placed"
}
