// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
)

// tenant is the program of one tenant.
type tenant struct {
	*client
	operator *client
	name     string
	tickets  map[string]ticket // that the service has acknowledged, by ID, as they are now
}

// ticket is what the test compares of a ticket.
type ticket struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
	ETag    string `json:"etag"`
}

func newTenants(o Options, operator *client) (all []*tenant) {
	for i := range o.Tenants {
		all = append(all, &tenant{
			client:   &client{http: operator.http, base: o.API, times: operator.times},
			operator: operator, name: fmt.Sprintf("%s%05d", o.Prefix, i), tickets: map[string]ticket{},
		})
	}
	return all
}

// work is all that a tenant does, one request after the other.
func (t *tenant) work(ctx context.Context, tickets int) error {
	if err := t.add(ctx); err != nil {
		return err
	}
	for i := range tickets {
		created, err := t.create(ctx, i)
		if err != nil {
			return err
		}
		if err := t.handle(ctx, i, created); err != nil {
			return err
		}
	}
	return t.find(ctx)
}

// add makes the tenant, and keeps its key.
func (t *tenant) add(ctx context.Context) error {
	var answer struct{ Key string }
	err := t.operator.expect(ctx, http.StatusCreated, request{"add tenant", "POST", "/tenants", "", map[string]string{"name": t.name}}, &answer)
	t.token = answer.Key
	return err
}

// create makes a ticket. A 409 is the answer to a request that was sent again after a 503:
// the first one was successful.
func (t *tenant) create(ctx context.Context, i int) (ticket, error) {
	ref := fmt.Sprintf("%s/%d", t.name, i)
	r := request{"create", "POST", "/v1/tickets", "", map[string]string{"ref": ref, "subject": "Ticket " + ref, "requester": "ada@example.com"}}
	var created ticket
	var body json.RawMessage
	answer, err := t.send(ctx, r, &body)
	if err != nil {
		return created, err
	}
	switch answer.StatusCode {
	case http.StatusCreated:
		err = json.Unmarshal(body, &created)
	case http.StatusConflict:
		err = t.expect(ctx, http.StatusOK, request{"get", "GET", "/v1/tickets/" + path.Base(answer.Header.Get("Location")), "", nil}, &created)
	default:
		err = fmt.Errorf("create: status %d: %s", answer.StatusCode, body)
	}
	if err == nil {
		t.tickets[created.ID] = created
	}
	return created, err
}

// handle closes each second ticket; of the others each second gets a comment.
func (t *tenant) handle(ctx context.Context, i int, was ticket) error {
	path := "/v1/tickets/" + was.ID
	switch i % 4 {
	case 0, 2:
		var now ticket
		if err := t.expect(ctx, http.StatusOK, request{"change", "PATCH", path, was.ETag, map[string]string{"status": "closed"}}, &now); err != nil {
			return err
		}
		t.tickets[now.ID] = now
		var stale struct{ Status int }
		return t.expect(ctx, http.StatusPreconditionFailed, request{"stale change", "PATCH", path, was.ETag, map[string]string{"subject": "Lost"}}, &stale)
	case 1:
		var c struct{ ID string }
		return t.expect(ctx, http.StatusCreated, request{"comment", "POST", path + "/comments", "", map[string]string{"author": "bob", "text": "On my way."}}, &c)
	}
	return nil
}

// find searches, and counts.
func (t *tenant) find(ctx context.Context) error {
	var found page
	if err := t.expect(ctx, http.StatusOK, request{"search", "GET", "/v1/search?q=ticket&limit=100", "", nil}, &found); err != nil {
		return err
	}
	if want := min(len(t.tickets), 100); len(found.Items) != want {
		return fmt.Errorf("the search finds %d tickets, want %d", len(found.Items), want)
	}
	counts := map[string]int{}
	if err := t.expect(ctx, http.StatusOK, request{"count", "GET", "/v1/counts", "", nil}, &counts); err != nil {
		return err
	}
	if n := counts["open"] + counts["waiting"] + counts["closed"]; n != len(t.tickets) {
		return fmt.Errorf("%d tickets are counted, want %d", n, len(t.tickets))
	}
	return nil
}
