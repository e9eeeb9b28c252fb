// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/ui/job"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// Handler serves the page over a database. It is safe for concurrent use.
type Handler struct {
	db      *persistable.DB
	options Options
	guard   *access.Guard
	jobs    *job.Set
	samples *sampler // nil for an engine without metrics
	leases  *leasefdb.Provider
	pages   http.Handler
	ended   context.Context // done when the handler is closed: it ends streams
	end     context.CancelFunc
	closed  sync.Once
}

// New returns a handler over db. Close it before db.
func New(db *persistable.DB, o Options) (*Handler, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	if db == nil {
		return nil, errors.New("ui: there is no database")
	}
	guard, err := access.New(o.Access)
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	leases, err := leasefdb.New(db.Engine(), leasefdb.Options{})
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	h := &Handler{db: db, options: o.withDefaults(), guard: guard, jobs: job.NewSet(), leases: leases}
	h.ended, h.end = context.WithCancel(context.Background())
	h.samples = startSampler(db.Engine(), h.options.SampleEvery)
	h.pages = guard.Protect(h.routes(), http.HandlerFunc(serveClosed))
	return h, nil
}

// Link returns the address that opens the page, on a server at origin: scheme://host:port.
func (h *Handler) Link(origin string) string { return h.guard.Link(origin) }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.pages.ServeHTTP(w, r) }

// Close ends what runs in the background, and waits for it. Further calls do nothing.
func (h *Handler) Close() { h.closed.Do(h.stop) }

func (h *Handler) stop() {
	h.end()
	h.jobs.Close()
	h.samples.close()
}
