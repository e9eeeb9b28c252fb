// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// OrderStatus is how far an order has come. Records have its number.
type OrderStatus int

// The states of an order.
const Pending, Paid, Shipped OrderStatus = 0, 1, 2

// String names the status.
func (s OrderStatus) String() string { return [...]string{"pending", "paid", "shipped"}[s] }

// Order is a purchase of one tenant.
type Order struct {
	_ persistable.Type      `persist:"Order"` // the name in keys: the struct may be renamed
	_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`
	_ persistable.Unique    `persist:"Number"`

	ID        idgen.ID // set by the constructor; or ulid.ULID
	TenantID  string
	Number    string
	Status    OrderStatus `persist:"index"`
	CreatedAt time.Time
	Amount    int64
}
