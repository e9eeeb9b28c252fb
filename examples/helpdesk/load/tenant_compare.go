// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"net/http"
)

// page is a page of tickets.
type page struct {
	Items []ticket
	Next  string
}

// compare reads all of the tenant's tickets, page by page, and compares them with those that
// were acknowledged: none is missing, none is there that the tenant did not create, and
// each is as it was acknowledged last.
func (t *tenant) compare(ctx context.Context) error {
	stored, err := t.list(ctx)
	if err != nil {
		return err
	}
	for id, want := range t.tickets {
		if got, ok := stored[id]; !ok {
			return fmt.Errorf("ticket %s was acknowledged and is missing", id)
		} else if got.Subject != want.Subject || got.Status != want.Status {
			return fmt.Errorf("ticket %s is %+v, was acknowledged as %+v", id, got, want)
		}
	}
	for id := range stored {
		if _, ok := t.tickets[id]; !ok {
			return fmt.Errorf("ticket %s was never acknowledged", id)
		}
	}
	return nil
}

// list returns all tickets of the tenant.
func (t *tenant) list(ctx context.Context) (map[string]ticket, error) {
	stored := map[string]ticket{}
	for _, status := range []string{"open", "waiting", "closed"} {
		for token, more := "", true; more; {
			var p page
			if err := t.expect(ctx, http.StatusOK, request{"list", "GET", "/v1/tickets?limit=100&status=" + status + "&page=" + token, "", nil}, &p); err != nil {
				return nil, err
			}
			for _, item := range p.Items {
				if _, twice := stored[item.ID]; twice {
					return nil, fmt.Errorf("ticket %s is listed twice", item.ID)
				}
				stored[item.ID] = item
			}
			token, more = p.Next, p.Next != ""
		}
	}
	return stored, nil
}
