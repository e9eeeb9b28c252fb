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
	for pattern, h := range map[string]handler{
		"POST /v1/tickets":                 createTicket,
		"GET /v1/tickets":                  listTickets,
		"GET /v1/tickets/{id}":             getTicket,
		"PATCH /v1/tickets/{id}":           changeTicket,
		"POST /v1/tickets/{id}/comments":   createComment,
		"GET /v1/tickets/{id}/comments":    listComments,
		"GET /v1/search":                   searchTickets,
		"GET /v1/queue":                    listQueue,
		"GET /v1/counts":                   countTickets,
		"GET /v1/notices":                  listNotices,
		"POST /v1/notices/{id}/deliveries": deliverNotice,
	} {
		mux.Handle(pattern, a.authenticated(h))
	}
	return mux
}

// authenticated lets h answer for the tenant whose API key the request has.
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
