// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Employee works for the store.
type Employee struct {
	_ persistable.Directory `persist:"staff"`

	ID        idgen.ID
	Number    int64 `persist:"unique"`
	LastName  string
	FirstName string
	Title     string
	Email     string    `persist:"unique"`
	ReportsTo *idgen.ID `persist:"index"` // an employee; nil for the head of the store
	BirthDate time.Time
	HireDate  time.Time
	Address   Address
	Country   string
}

// Customer buys tracks.
type Customer struct {
	_ persistable.Directory `persist:"customers"`
	_ persistable.Index     `persist:"SupportRepID,Company,Country"`

	ID           idgen.ID
	Number       int64 `persist:"unique"`
	FirstName    string
	LastName     string
	Email        string  `persist:"unique"`
	Company      *string // nil for a private customer
	Address      Address
	Country      string
	SupportRepID idgen.ID // an employee
}

// Address is where an employee or a customer lives, but for the country.
type Address struct {
	Street     string
	City       string
	State      *string
	PostalCode *string
	Phone      *string
	Fax        *string
}

// Invoice is a sale. Each billing country is a tenant: its invoices and their
// lines are in directories of its own, under a partition, so that they share a
// prefix of keys and can be removed together. Numbers are unique in a country.
type Invoice struct {
	_ persistable.Directory `persist:"countries/{Country}/invoices,layer=partition"`
	_ persistable.Index     `persist:"CustomerID,Date"`

	ID         idgen.ID
	Country    string
	Number     int64 `persist:"unique"`
	CustomerID idgen.ID
	Date       time.Time `persist:"index,cover"` // entries hold a copy of the invoice: a report reads them alone
	Billing    Address
	Total      Cents
}

// InvoiceLine is a track on an invoice. It is stored by the transaction that
// stores its invoice.
type InvoiceLine struct {
	_ persistable.Directory `persist:"countries/{Country}/lines,layer=partition"`
	_ persistable.Unique    `persist:"InvoiceID,Number"` // also lists the lines of an invoice

	ID        idgen.ID
	Country   string
	InvoiceID idgen.ID
	Number    int64
	TrackID   idgen.ID
	Price     Cents
	Quantity  int64
}
