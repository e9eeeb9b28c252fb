// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// The types of the tests. Their stores are written by hand in the form that persistgen
// writes.

type OrderStatus int

const (
	Pending OrderStatus = iota
	Paid
	Shipped
)

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

// Bid has an index of each kind but the ordinary one.
type Bid struct {
	_ persistable.Type      `persist:"Bid"`
	_ persistable.Directory `persist:"auctions/{House}/bids"`
	_ persistable.Count     `persist:"by=Lot"`
	_ persistable.Sum       `persist:"Amount,by=Lot"`
	_ persistable.Rank      `persist:"Amount,by=Lot"`

	ID      int64
	House   string
	Lot     string
	Amount  int64
	Version persistable.Version
}

// Note has an index over the tenant's name if indexed is set, records of any size, and
// a directory that is no partition.
type Note struct {
	_ persistable.Type      `persist:"Note"`
	_ persistable.Directory `persist:"rooms/{Room}/notes"`
	_ persistable.Index     `persist:"Title,cover"`

	ID    int64
	Room  string
	Title string
	Body  []byte
}
