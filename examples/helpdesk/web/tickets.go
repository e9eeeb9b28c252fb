// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// newTicketJSON is what a client sends to create a ticket.
type newTicketJSON struct {
	Ref       *string           `json:"ref"`
	Subject   string            `json:"subject"`
	Body      string            `json:"body"`
	Requester string            `json:"requester"`
	Priority  *records.Priority `json:"priority"`
}

func (n newTicketJSON) ticket() records.Ticket {
	t := records.Ticket{Ref: n.Ref, Subject: n.Subject, Body: n.Body, Requester: n.Requester, Priority: records.Normal}
	if n.Priority != nil {
		t.Priority = *n.Priority
	}
	return t
}

// createTicket stores a ticket. A client that does not get the answer sends the request
// again with the same ref, and gets 409 with the location of the ticket that it has made.
func createTicket(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	var body newTicketJSON
	if err := readJSON(r, &body); err != nil {
		return err
	}
	t, err := d.Create(r.Context(), body.ticket())
	if taken := as[*persistable.UniqueError](err); taken != nil {
		w.Header().Set("Location", location(taken.Owner))
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", location(t.ID))
	writeTicket(w, http.StatusCreated, t)
	return nil
}

func location(id any) string {
	if number, ok := id.(int64); ok { // as a UniqueError has it
		id = idgen.ID(number)
	}
	return "/v1/tickets/" + id.(idgen.ID).String()
}

func writeTicket(w http.ResponseWriter, status int, t *records.Ticket) {
	w.Header().Set("ETag", etag(t.Version))
	writeJSON(w, status, ticketOf(t))
}

// getTicket answers 304 if the client has the ticket as it is.
func getTicket(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	t, err := d.Ticket(r.Context(), id)
	if err != nil {
		return err
	}
	if r.Header.Get("If-None-Match") == etag(t.Version) {
		w.Header().Set("ETag", etag(t.Version))
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeTicket(w, http.StatusOK, t)
	return nil
}

// changeTicket changes a ticket that has not been changed since the client read it.
func changeTicket(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	seen, err := ifMatch(r)
	if err != nil {
		return err
	}
	var patch desk.Patch
	if err := readJSON(r, &patch); err != nil {
		return err
	}
	t, err := d.Change(r.Context(), id, seen, patch)
	if err != nil {
		return err
	}
	writeTicket(w, http.StatusOK, t)
	return nil
}
