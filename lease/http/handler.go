// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// Lister lists leases, as [lease.Server] does.
type Lister interface {
	List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)
}

// Handler serves a provider.
type Handler struct {
	provider idgen.LeaseProvider
	options  HandlerOptions
	accounts []*account
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler that serves provider. It returns what
// [HandlerOptions.Validate] finds.
func NewHandler(provider idgen.LeaseProvider, options HandlerOptions) (*Handler, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if options.MaxBody == 0 {
		options.MaxBody = DefaultMaxBody
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Lister == nil {
		options.Lister, _ = provider.(Lister)
	}
	h := &Handler{provider: provider, options: options}
	for _, t := range options.Tokens {
		h.accounts = append(h.accounts, newAccount(t))
	}
	h.options.Tokens = nil // so that they are not printed with the handler
	return h, nil
}

// NewServer returns a server of handler with bounds on the time and the headers
// of a request. Set its address, and TLS.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	answer, err := h.route(w, r.WithContext(ctx))
	if err != nil {
		h.writeProblem(w, r, err)
		return
	}
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	write(w, http.StatusOK, "application/json", answer)
}

// write answers in JSON. That the client has gone is no concern of ours.
func write(w http.ResponseWriter, status int, contentType string, answer any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// route returns what to answer, nil for nothing.
func (h *Handler) route(w http.ResponseWriter, r *http.Request) (any, error) {
	account, err := h.authenticate(r)
	if err != nil {
		return nil, err
	}
	id, release := strings.CutPrefix(r.URL.Path, "/lease/")
	switch {
	case r.URL.Path == "/lease":
		return h.handleAcquire(w, r, account)
	case release && !strings.Contains(id, "/"):
		return nil, h.handleRelease(w, r, account, id)
	case r.URL.Path == "/leases":
		return h.handleList(w, r, account)
	case r.URL.Path == "/services":
		return h.handleServices(w, r, account)
	}
	return nil, newStatusError(http.StatusNotFound, codeNoResource, "there is %q, %q, %q and %q", "/lease", "/lease/{id}", "/leases", "/services")
}
