// SPDX-License-Identifier: Apache-2.0

// Package records has the types that the help desk stores. All but Tenant lie below a
// directory for each tenant, which a store of one tenant cannot leave.
package records

import (
	"errors"
	"fmt"
	"net/mail"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Ticket is a question that a customer of one tenant has asked.
type Ticket struct {
	_ persistable.Type      `persist:"Ticket"`
	_ persistable.Directory `persist:"tenants/{Tenant}/tickets,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`
	_ persistable.Index     `persist:"Priority desc,CreatedAt,where=Status=Open,name=Queue"`
	_ persistable.Count     `persist:"by=Status"`

	ID        idgen.ID            // set by the constructor
	Version   persistable.Version // of the last change; filled when the record is read
	Tenant    string
	Ref       *string `persist:"unique"` // the tenant's own reference; nil for none
	Subject   string
	Body      string
	Requester string   `persist:"index"` // an e-mail address
	Words     []string `persist:"index"` // of the subject, for the search
	Status    Status
	Priority  Priority `persist:"default=Normal"`
	CreatedAt time.Time
}

// BeforeSave sets the words by which the ticket is found.
func (t *Ticket) BeforeSave() error {
	t.Words = Words(t.Subject)
	return nil
}

// Validate reports all that is wrong with the ticket. A write calls it.
func (t *Ticket) Validate() error {
	var faults []error
	if n := len(t.Subject); n < 1 || n > 200 {
		faults = append(faults, fmt.Errorf("subject: %d bytes, want 1 to 200", n))
	}
	if n := len(t.Body); n > 20_000 {
		faults = append(faults, fmt.Errorf("body: %d bytes, want at most 20000", n))
	}
	if t.Ref != nil && (*t.Ref == "" || len(*t.Ref) > 100) {
		faults = append(faults, fmt.Errorf("ref: %d bytes, want 1 to 100", len(*t.Ref)))
	}
	if _, err := mail.ParseAddress(t.Requester); err != nil || len(t.Requester) > 254 {
		faults = append(faults, errors.New("requester: want an e-mail address of at most 254 bytes"))
	}
	return errors.Join(faults...)
}
