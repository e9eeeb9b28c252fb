// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// writeJSON writes an answer. If the client has gone there is nothing left to do.
func writeJSON(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// ticketJSON is a ticket as clients see it: not what is stored, so that either may change.
type ticketJSON struct {
	ID        idgen.ID         `json:"id"` // as text: JavaScript's numbers are too short
	Ref       *string          `json:"ref,omitempty"`
	Subject   string           `json:"subject"`
	Body      string           `json:"body"`
	Requester string           `json:"requester"`
	Status    records.Status   `json:"status"`
	Priority  records.Priority `json:"priority"`
	CreatedAt time.Time        `json:"created_at"`
	ETag      string           `json:"etag"`
}

func ticketOf(t *records.Ticket) ticketJSON {
	return ticketJSON{t.ID, t.Ref, t.Subject, t.Body, t.Requester, t.Status, t.Priority, t.CreatedAt, etag(t.Version)}
}

// etag returns a record's version as an entity tag.
func etag(v persistable.Version) string { return `"` + v.String() + `"` }

// commentJSON is a comment as clients see it.
type commentJSON struct {
	ID        idgen.ID  `json:"id"`
	Author    string    `json:"author"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

func commentOf(c *records.Comment) commentJSON {
	return commentJSON{c.ID, c.Author, c.Text, c.CreatedAt}
}

// noticeJSON is a notice as clients see it.
type noticeJSON struct {
	Ticket    idgen.ID       `json:"ticket"`
	Requester string         `json:"requester"`
	Subject   string         `json:"subject"`
	Status    records.Status `json:"status"`
}

func noticeOf(n *records.Notice) noticeJSON {
	return noticeJSON{n.ID, n.Requester, n.Subject, n.Status}
}

// pageJSON is a page of a list. To get the next one, or the one before, send Next or Previous as the
// parameter page.
type pageJSON[T any] struct {
	Items    []T    `json:"items"`
	Next     string `json:"next,omitempty"`
	Previous string `json:"previous,omitempty"`
}

// writePage writes a page of records, each as convert makes it.
func writePage[R, T any](w http.ResponseWriter, page persistable.Page[R], convert func(R) T) {
	items := make([]T, len(page.Records))
	for i, record := range page.Records {
		items[i] = convert(record)
	}
	writeJSON(w, http.StatusOK, pageJSON[T]{items, page.Next, page.Previous})
}
