// SPDX-License-Identifier: Apache-2.0

// Package v1 has the types of the shop's first program.
package v1

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen -graph-into ../README.md

// Status is how far an order has come.
type Status int

// The states of an order.
const (
	Placed Status = iota
	Paid
	Shipped
)

// String names the status.
func (s Status) String() string { return [...]string{"placed", "paid", "shipped"}[s] }

// Order is an order of one shop: each shop is a tenant with a directory of its own.
type Order struct {
	_ persistable.Type      `persist:"Order"`
	_ persistable.Directory `persist:"shops/{Shop}/orders,layer=partition"`
	_ persistable.Unique    `persist:"Number"`
	_ persistable.Index     `persist:"Status,PlacedAt desc,cover=Number+Total"`   // rows without a read of the records
	_ persistable.Index     `persist:"PlacedAt,where=Status=Paid,name=Unshipped"` // only what is to be packed
	_ persistable.Count
	_ persistable.Count `persist:"by=Status"`
	_ persistable.Sum   `persist:"Total,by=Status"`
	_ persistable.Max   `persist:"Total"`

	ID       idgen.ID
	Version  persistable.Version // of the last change; it makes the change feed
	Shop     string
	Number   string
	Customer idgen.ID
	Status   Status
	PlacedAt time.Time
	Total    int64 // in cents
	Items    int32
	Note     string
}

// Customer buys in one shop.
type Customer struct {
	_ persistable.Type      `persist:"Customer"`
	_ persistable.Directory `persist:"shops/{Shop}/customers,layer=partition"`

	ID      idgen.ID
	Shop    string
	Email   string `persist:"unique"`
	Letters int64  // that were written to them
}

// Letter waits in the outbox until it is sent.
type Letter struct {
	_ persistable.Type      `persist:"Letter"`
	_ persistable.Directory `persist:"shops/{Shop}/letters,layer=partition"`

	ID       idgen.ID
	Shop     string
	Customer idgen.ID
	Text     string
}
