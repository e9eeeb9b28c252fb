// SPDX-License-Identifier: Apache-2.0

// Package v2 has the type of orders as the shop's second program has it. In a program of
// your own it is the same package, later: here both are compiled, to run side by side.
package v2

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Status is how far an order has come.
type Status int

// The states of an order.
const (
	Placed Status = iota
	Paid
	Shipped
)

// Order is v1.Order with another name for a field, a wider field, a new one, and a new index.
type Order struct {
	_ persistable.Type      `persist:"Order"`
	_ persistable.Directory `persist:"shops/{Shop}/orders,layer=partition"`
	_ persistable.Unique    `persist:"Number"`
	_ persistable.Index     `persist:"Status,PlacedAt desc,cover=Number+Total"`
	_ persistable.Index     `persist:"PlacedAt,where=Status=Paid,name=Unshipped"`
	_ persistable.Index     `persist:"Currency,Total"` // new: Indexes().Build makes its entries
	_ persistable.Count
	_ persistable.Count `persist:"by=Status"`
	_ persistable.Sum   `persist:"Total,by=Status"`
	_ persistable.Max   `persist:"Total"`

	ID       idgen.ID
	Version  persistable.Version
	Shop     string
	Number   string
	Customer idgen.ID
	Status   Status
	PlacedAt time.Time
	Total    int64
	Items    int64  `persist:"was=int32"`     // wider: write values over 32 bits when v1 has gone
	Remark   string `persist:"name=Note"`     // renamed: stored as before
	Currency string `persist:"default='EUR'"` // new: what orders of v1 have
}
