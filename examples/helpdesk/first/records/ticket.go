// SPDX-License-Identifier: Apache-2.0

// Package records has the types that the tutorial's first program stores.
package records

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen
//go:generate go tool persistvet ../...

// Status is how far a ticket has come.
type Status int

// The states of a ticket.
const (
	Open Status = iota
	Waiting
	Closed
)

// Ticket is a question that a customer of one tenant has asked.
type Ticket struct {
	_ persistable.Type      `persist:"Ticket"`
	_ persistable.Directory `persist:"tenants/{Tenant}/tickets,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`

	ID        idgen.ID            // set by the constructor
	Version   persistable.Version // of the last change; filled when the record is read
	Tenant    string
	Subject   string
	Body      string
	Requester string `persist:"index"` // an e-mail address
	Status    Status
	CreatedAt time.Time
}
