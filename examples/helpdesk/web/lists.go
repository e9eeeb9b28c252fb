// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
)

// listTickets lists the tickets of a status, open ones unless told.
func listTickets(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	limit, token, err := pageOf(r)
	if err != nil {
		return err
	}
	status := records.Open
	if _, err := parameter(r, "status", &status); err != nil {
		return err
	}
	page, err := d.List(r.Context(), status, limit, token)
	if err != nil {
		return err
	}
	writePage(w, page, ticketOf)
	return nil
}

// listQueue lists what to work on next.
func listQueue(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	limit, token, err := pageOf(r)
	if err != nil {
		return err
	}
	page, err := d.Queue(r.Context(), limit, token)
	if err != nil {
		return err
	}
	writePage(w, page, ticketOf)
	return nil
}

// searchTickets lists the tickets that have all words of q, and the other properties.
func searchTickets(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	limit, token, err := pageOf(r)
	if err != nil {
		return err
	}
	search, err := searchOf(r)
	if err != nil {
		return err
	}
	page, err := d.Find(r.Context(), search, limit, token)
	if err != nil {
		return err
	}
	writePage(w, page, ticketOf)
	return nil
}

// maxSearchWords is how many words a search may have: each is a read of an index.
const maxSearchWords = 8

func searchOf(r *http.Request) (s desk.Search, err error) {
	s = desk.Search{Words: records.DistinctWords(r.FormValue("q")), Requester: r.FormValue("requester")}
	if n := len(s.Words); n > maxSearchWords {
		return s, problemf(http.StatusBadRequest, "q: %d words, want at most %d", n, maxSearchWords)
	}
	var status records.Status
	present, err := parameter(r, "status", &status)
	if present {
		s.Status = &status
	}
	if err == nil && len(s.Words) == 0 && s.Requester == "" {
		err = problemf(http.StatusBadRequest, "a search needs words (q) or a requester")
	}
	return s, err
}

// countTickets answers with the number of tickets of each status.
func countTickets(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	counts, err := d.Counts(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, counts)
	return nil
}
