// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen . ./older

// Status is how far an order has come.
type Status int

// The states of an order.
const (
	Placed Status = iota
	Paid
	Shipped
)

// Order is an order of a tenant.
type Order struct {
	_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
	_ persistable.Unique    `persist:"Number"`
	_ persistable.Index     `persist:"Status,CreatedAt desc,cover=Number+Amount"`
	_ persistable.Index     `persist:"Country,Amount,cover"`
	_ persistable.Index     `persist:"CreatedAt,where=Status=Paid,name=unshipped"`
	_ persistable.Index     `persist:"CreatedAt,scatter=4"`
	_ persistable.Index     `persist:"Address.City"`
	_ persistable.Index     `persist:"Editor"`
	_ persistable.Index     `persist:"Tags"`
	_ persistable.Count
	_ persistable.Count `persist:"by=Status"`
	_ persistable.Sum   `persist:"Amount,by=Country"`
	_ persistable.Rank  `persist:"Amount,by=Status"`

	ID        idgen.ID
	Version   persistable.Version
	TenantID  string
	Number    string
	Status    Status `persist:"enum"`
	Country   string
	CreatedAt time.Time
	Amount    int64 // in cents
	Units     uint32
	Editor    *string
	Tags      []string
	Address   Address
	Billing   *Address
	Lines     []Line
	Notes     map[string]string
	PaidAt    *time.Time
	Took      time.Duration
	Rate      float64
	Hash      [4]byte
	Photo     []byte
	Key       [16]byte
	Done      bool
}

// Address is where an order goes.
type Address struct {
	Street, City string
	Zip          *string
}

// Line is a line of an order.
type Line struct {
	Product  string
	Quantity int32
	Price    int64
}

// Account is an account of a tenant, as the newer of two programs has it: older.Account is
// the other one.
type Account struct {
	_ persistable.Type      `persist:"Account,scatter=4"`
	_ persistable.Directory `persist:"tenants/{TenantID}/accounts,layer=partition"`
	_ persistable.Unique    `persist:"Email"`
	_ persistable.Index     `persist:"Plan,Level"`

	ID       string
	TenantID string
	Email    string
	Level    int64   `persist:"was=int32"`
	Name     *string `persist:"was=string"`
	Plan     string  `persist:"default='free'"`
}

// Event is something that happened to a tenant.
type Event struct {
	_ persistable.Directory `persist:"events"`
	_ persistable.Index     `persist:"Tenant,At"`
	_ persistable.Version

	ID     ulid.ULID
	Tenant string
	At     time.Time
	Text   string
}

// Counter counts something.
type Counter struct {
	_ persistable.Directory `persist:"counters"`

	ID    int64
	Name  string `persist:"unique"`
	Value uint64
}

// Setting is a setting of the whole program.
type Setting struct {
	_ persistable.Directory `persist:"settings"`

	ID    string
	Value string `persist:"index"`
}
