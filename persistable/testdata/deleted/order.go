// SPDX-License-Identifier: Apache-2.0

// Package deleted has types with the option deleted, with indexes of all kinds.
package deleted

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/persistable"
)

// Customer is deleted by a pointer.
type Customer struct {
	_ persistable.Type  `persist:"Customer"`
	_ persistable.Index `persist:"DeletedAt,where=DeletedAt!=null,withdeleted,name=bin"`
	_ persistable.Count

	ID        int64
	Name      string     `persist:"unique"`
	DeletedAt *time.Time `persist:"deleted"`
}

// Order is deleted by a time.
type Order struct {
	_ persistable.Type   `persist:"Order"`
	_ persistable.Index  `persist:"City,Amount desc,cover=Status"`
	_ persistable.Index  `persist:"Amount,Text,cover,where=Status>0"`
	_ persistable.Unique `persist:"City,Serial,withdeleted"`
	_ persistable.Count
	_ persistable.Count  `persist:"by=City,name=ever,withdeleted"`
	_ persistable.Count  `persist:"by=Status"`
	_ persistable.Sum    `persist:"Amount,by=City"`
	_ persistable.Sum    `persist:"Amount,name=total,withdeleted"`
	_ persistable.Max    `persist:"Amount,by=Status"`
	_ persistable.Rank   `persist:"Amount,by=City"`
	_ persistable.Search `persist:"Text"`

	ID         int64
	Version    persistable.Version
	CustomerID int64  `persist:"ref=Customer,restrict,index"`
	Number     string `persist:"unique"`
	Serial     int64
	City       string
	Status     int64 `persist:"index,withdeleted"`
	Amount     int64
	Text       string
	Tags       []string  `persist:"index"`
	CreatedAt  time.Time `persist:"created"`
	DeletedAt  time.Time `persist:"deleted,index,withdeleted"`
}

// Line is deleted with its order, for good.
type Line struct {
	_ persistable.Type `persist:"Line"`

	ID      int64
	OrderID int64 `persist:"ref=Order,cascade,index"`
}

// BeforeDelete refuses orders that are kept.
func (o *Order) BeforeDelete(context.Context, persistable.Tx) error {
	if o.Text == Kept {
		return ErrKept
	}
	return nil
}

// Kept is the text of orders that cannot be deleted.
const Kept = "kept"

// ErrKept is why.
var ErrKept = errors.New("deleted: the order is kept")
