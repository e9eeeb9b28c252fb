// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
)

// maxBody is the size of a request's body; a transaction could have 10 MB.
const maxBody = 64 << 10

// maxTime is how long a request may work on the database before the answer is 503.
const maxTime = 5 * time.Second

// api answers the requests of tenants.
type api struct {
	registry *desk.Registry
	log      *slog.Logger
}

// handler answers a request of the tenant that has the desk.
type handler func(w http.ResponseWriter, r *http.Request, d *desk.Desk) error

// NewAPI returns what serves the tenants' programs.
func NewAPI(registry *desk.Registry, log *slog.Logger) http.Handler {
	a := &api{registry, log}
	mux := http.NewServeMux()
	for pattern, e := range map[string]endpoint{
		"POST /v1/tickets":                 {createTicket, nil},
		"GET /v1/tickets":                  {listTickets, []string{"status", "limit", "page"}},
		"GET /v1/tickets/{id}":             {getTicket, nil},
		"PATCH /v1/tickets/{id}":           {changeTicket, nil},
		"POST /v1/tickets/{id}/comments":   {createComment, nil},
		"GET /v1/tickets/{id}/comments":    {listComments, []string{"limit", "page"}},
		"GET /v1/search":                   {searchTickets, []string{"q", "requester", "status", "limit", "page"}},
		"GET /v1/queue":                    {listQueue, []string{"limit", "page"}},
		"GET /v1/counts":                   {countTickets, nil},
		"GET /v1/notices":                  {listNotices, []string{"limit", "page"}},
		"POST /v1/notices/{id}/deliveries": {deliverNotice, nil},
	} {
		mux.Handle(pattern, a.authenticated(e.answer))
	}
	return mux
}

// endpoint is a handler and the parameters of the query that it reads.
type endpoint struct {
	handler    handler
	parameters []string
}

// answer lets the handler answer a request, unless it has a parameter that the handler does not
// read. That is a mistake of the client: a list that ignored it would answer with the wrong page.
func (e endpoint) answer(w http.ResponseWriter, r *http.Request, d *desk.Desk) error {
	if err := checkParameters(r, e.parameters); err != nil {
		return err
	}
	return e.handler(w, r, d)
}

// authenticated lets h answer for the tenant that the request's API key belongs to.
func (a *api) authenticated(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), maxTime)
		defer stop()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		d, err := a.registry.Authenticate(ctx, bearer(r))
		if err == nil {
			err = h(w, r, d)
		}
		if err != nil {
			fail(w, r, a.log, err)
		}
	})
}

// bearer returns the token of the request's Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
