// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
)

// createComment stores a comment, and opens its ticket again.
func createComment(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	ticket, err := pathID(r)
	if err != nil {
		return err
	}
	var body struct {
		Author string `json:"author"`
		Text   string `json:"text"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	c, err := d.Comment(r.Context(), ticket, body.Author, body.Text)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, commentOf(c))
	return nil
}

// listComments lists the comments of a ticket, the oldest first.
func listComments(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	ticket, err := pathID(r)
	if err != nil {
		return err
	}
	limit, token, err := pageOf(r)
	if err != nil {
		return err
	}
	page, err := d.Comments(r.Context(), ticket, limit, token)
	if err != nil {
		return err
	}
	writePage(w, page, commentOf)
	return nil
}

// listNotices lists what the tenant's program has to tell requesters.
func listNotices(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	limit, token, err := pageOf(r)
	if err != nil {
		return err
	}
	page, err := d.Notices(r.Context(), limit, token)
	if err != nil {
		return err
	}
	writePage(w, page, noticeOf)
	return nil
}

// deliverNotice notes that a requester was told of a status.
func deliverNotice(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	ticket, err := pathID(r)
	if err != nil {
		return err
	}
	var body struct {
		Status records.Status `json:"status"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	if err := d.Delivered(r.Context(), ticket, body.Status); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
