// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/examples/helpdesk/first/records"
	"github.com/kazahana-db/kazahana/persistable/persistabletest"
)

func TestClosedTicketIsNotListed(t *testing.T) {
	tickets := records.TicketStoreOf(persistabletest.Open(t), "acme")
	ticket := tickets.New(records.Ticket{Subject: "The printer is on fire", Requester: "ada@example.com"})
	if err := tickets.Create(t.Context(), ticket); err != nil {
		t.Fatal(err)
	}
	if err := tickets.Update(t.Context(), ticket.ID, func(t *records.Ticket) error { t.Status = records.Closed; return nil }); err != nil {
		t.Fatal(err)
	}
	open, err := tickets.ByStatusCreatedAt(records.Open).Slice(t.Context())
	if err != nil || len(open) > 0 {
		t.Errorf("%d tickets are open, %v", len(open), err)
	}
}
