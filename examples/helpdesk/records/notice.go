// SPDX-License-Identifier: Apache-2.0

package records

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Notice is what the requester of a ticket is to be told: its newest status. A ticket has
// one at most, under the ID of the ticket.
type Notice struct {
	_ persistable.Type      `persist:"Notice"`
	_ persistable.Directory `persist:"tenants/{Tenant}/notices,layer=partition"`

	ID        idgen.ID // of the ticket
	Tenant    string
	Requester string
	Subject   string
	Status    Status
	Delivered bool `persist:"index"`
}
