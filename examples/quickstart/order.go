// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// OrderStatus is how far an order has come.
type OrderStatus int

// The states of an order.
const (
	Pending OrderStatus = iota
	Paid
	Shipped
)

// String names the status.
func (s OrderStatus) String() string { return [...]string{"pending", "paid", "shipped"}[s] }

// Order is a purchase of one tenant.
type Order struct {
	_ persistable.Type      `persist:"Order"`
	_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`
	_ persistable.Unique    `persist:"Number"`

	ID        idgen.ID
	TenantID  string
	Number    string
	Status    OrderStatus `persist:"index"`
	CreatedAt time.Time
	Amount    int64
}
