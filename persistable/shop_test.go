// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// The types of the tests. Their stores, in order_, article_ and art_persist_test.go, are written by
// hand in the form that persistgen writes.

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

// Article has what Order has not: a text id, nulls, a slice, covering indexes,
// a compound unique index, and fields of any size.
type Article struct {
	_ persistable.Type      `persist:"Article"`
	_ persistable.Directory `persist:"articles"`
	_ persistable.Unique    `persist:"Section,Slug"`
	_ persistable.Index     `persist:"Section,Published,cover"`

	ID        string
	Section   string
	Slug      string
	ISBN      *string   `persist:"unique,cover"`
	Editor    *string   `persist:"index"`
	Tags      []string  `persist:"index"`
	Published time.Time `persist:"index"`
	Body      []byte
}

// Art is in Article's directory, and its name is a prefix of that one's.
type Art struct {
	_ persistable.Type      `persist:"Art"`
	_ persistable.Directory `persist:"articles"`
	_ persistable.Index     `persist:"Name"`

	ID   int32
	Name string
}
