// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/uptime"
	"github.com/kazahana-db/kazahana/lease"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 16 << 10

// Handler serves the controller's paths. Answers have the specification's
// code, message and data.
func (c *Controller) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+RegisterPath, serve(c, c.options.Authorize, c.Register))
	mux.Handle("POST "+HeartbeatPath, serve(c, c.options.Authorize, c.Heartbeat))
	mux.Handle("POST "+LeavePath, serve(c, c.options.Authorize, func(ctx context.Context, l Leave) (struct{}, error) { return struct{}{}, c.Leave(ctx, l) }))
	mux.Handle("GET "+WorkersPath, serve(c, c.options.Authorize, func(ctx context.Context, _ none) (Workers, error) { return c.Workers(ctx) }))
	mux.Handle("GET "+BalancePath, serve(c, c.options.AuthorizeBalance, func(ctx context.Context, _ none) (Balance, error) { return c.Balance(ctx) }))
	return mux
}

// none stands for an empty body.
type none struct{}

// serve returns a handler that reads a request, calls fn, and writes its answer.
func serve[Q, A any](c *Controller, authorize func(*http.Request) error, fn func(context.Context, Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), c.options.Timeout)
		defer cancel()
		var request Q
		err := authorize(r)
		if err != nil {
			err = unauthorized(err)
		} else if _, empty := any(request).(none); !empty {
			err = read(w, r, &request)
		}
		var answer A
		if err == nil {
			answer, err = fn(ctx, request)
		}
		if err != nil {
			c.sendError(w, r, err)
			return
		}
		send(w, http.StatusOK, api.Reply[A]{Code: api.OK, Message: api.Success, Data: answer})
	})
}

// unauthorized returns the error that refuses a request.
func unauthorized(err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return &api.Error{Code: api.Authentication, Message: "Authorization: the token is missing or not valid", Err: err}
}

// read decodes the body. It ignores unknown members, which later versions may send.
func read(w http.ResponseWriter, r *http.Request, request any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return &api.Error{Code: api.Invalid, Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", maxBody)}
	case err != nil:
		return &api.Error{Code: api.Invalid, Message: "the body was cut short", Err: err}
	}
	if err := json.Unmarshal(body, request); err != nil {
		return &api.Error{Code: api.Invalid, Message: "the body is not the expected JSON: " + err.Error()}
	}
	return nil
}

// sendError answers with an error.
func (c *Controller) sendError(w http.ResponseWriter, r *http.Request, err error) {
	e := refusal(err)
	level := slog.LevelInfo
	if e.HTTPStatus() >= 500 {
		level = slog.LevelError
	}
	c.options.Logger.Log(r.Context(), level, "controller: request refused", "path", r.URL.Path, "code", int(e.Code), "message", e.Message, "cause", e.Err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if e.HTTPStatus() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="idbuilder"`)
	}
	send(w, e.HTTPStatus(), api.Reply[any]{Code: e.Code, Message: e.Message})
}

// refusal returns the answer for an error.
func refusal(err error) *api.Error {
	var e *api.Error
	var wrong invalidError
	var damaged *store.CorruptError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &wrong):
		return &api.Error{Code: api.Invalid, Message: wrong.Error()}
	case errors.Is(err, snowflake.ErrLeaseKey):
		return &api.Error{Code: api.Invalid, Message: "lease_key: send that of the last answer"}
	case errors.Is(err, ErrUnknownWorker):
		return &api.Error{Code: api.NotFound, Message: "lease_key: the lease has ended; register again", Err: err}
	case errors.Is(err, snowflake.ErrExhausted):
		return &api.Error{Code: api.Exhausted, Message: "all worker ids are leased; a worker that left or was lost frees one", RetryAfter: time.Second, Err: err}
	case errors.Is(err, lease.ErrQuarantine):
		return &api.Error{Code: api.Unavailable, Message: "the store has lost leases; no worker id is leased until they have ended", RetryAfter: time.Second, Err: err}
	case errors.As(err, &damaged):
		return &api.Error{Code: api.Internal, Message: "what the store holds is damaged: " + damaged.Where, Err: err}
	}
	return &api.Error{Code: api.Unavailable, Message: "the store cannot be asked now; repeat the request", RetryAfter: time.Second, Err: err}
}

// send writes an answer. It ignores errors: the client may be gone.
func send(w http.ResponseWriter, status int, reply any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply)
}

// refreshView reads the documents, unless they were read within maxAge. The caller
// holds the lock.
func (c *Controller) refreshView(ctx context.Context, maxAge time.Duration) error {
	v, begun := c.view, c.view.now()
	if v.known && begun-v.read < maxAge {
		return nil
	}
	seen := map[string]observation{}
	for after := ""; ; {
		docs, err := c.store.List(ctx, store.Workers, store.ListOptions{Prefix: recordPrefix, After: after})
		if err != nil {
			return err
		}
		for _, doc := range docs {
			after = doc.Key
			c.observeDocument(seen, doc, begun)
		}
		if len(docs) == 0 {
			break
		}
	}
	v.seen, v.read, v.known = seen, begun, true
	return nil
}

// observeDocument adds a document to seen.
func (c *Controller) observeDocument(seen map[string]observation, doc store.Document, now time.Duration) {
	last, known := c.view.seen[doc.Key]
	if known && last.version == doc.Version {
		seen[doc.Key] = last
		return
	}
	w, err := decodeRecord(doc)
	if err != nil {
		c.options.Logger.Error("controller: a worker's document is left out", "error", err)
		return
	}
	seen[doc.Key] = observation{version: doc.Version, since: now, worker: w, leftover: !c.view.known && c.isLeftover(w)}
}

// isLeftover reports whether the last heartbeat of a worker is more than a lease away from now. In the
// first read of a controller such a document is of a worker that is gone, or of one that sends its heartbeats
// to the service from which the store was copied. If it is only that clocks differ, its next heartbeat tells.
func (c *Controller) isLeftover(w Worker) bool {
	return c.options.Now().Sub(w.Heartbeat).Abs() > c.options.Lease
}

// liveWorkers returns the workers that live, in the order of their worker ids.
func (c *Controller) liveWorkers(ctx context.Context) ([]Worker, error) {
	unlock, err := c.view.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.refreshView(ctx, c.options.Heartbeat/10); err != nil {
		return nil, err
	}
	workers, now := []Worker{}, c.view.now()
	for _, s := range c.view.seen {
		if !s.leftover && now-s.since < c.options.Lease {
			workers = append(workers, s.worker)
		}
	}
	slices.SortFunc(workers, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.WorkerID, b.WorkerID), cmp.Compare(a.Instance, b.Instance))
	})
	return workers, nil
}

// removeDead removes the documents of workers that have been dead for the length of a lease.
func (c *Controller) removeDead(ctx context.Context) error {
	unlock, err := c.view.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.refreshView(ctx, 0); err != nil {
		return err
	}
	now := c.view.now()
	for key, s := range c.view.seen {
		if now-s.since < 2*c.options.Lease {
			continue
		}
		err := c.store.Delete(ctx, store.Workers, key, s.version)
		if isConflict(err) {
			continue // it is back
		}
		if err != nil {
			return err
		}
		c.options.Logger.Info("controller: a worker is gone", "worker_id", s.worker.WorkerID, "instance", s.worker.Instance, "address", s.worker.Address)
	}
	return nil
}

// view has this controller's observations of the workers' documents. A worker lives while
// its document changes, by this machine's clock alone. A controller that has just started
// assumes for the length of a lease that each worker lives that is not a leftover.
type view struct {
	clock uptime.Clock
	turn  chan struct{} // holds one value while the documents are read
	seen  map[string]observation
	read  time.Duration // when seen was read last
	known bool          // it was read
}

// observation is a document as this controller last saw it.
type observation struct {
	version  int64
	since    time.Duration // when it was first seen with the version
	worker   Worker
	leftover bool // the worker is not taken for alive before the version changes
}

func newView() *view {
	return &view{clock: uptime.New(), turn: make(chan struct{}, 1), seen: map[string]observation{}}
}

// now returns the monotonic time.
func (v *view) now() time.Duration { return v.clock.Elapsed(time.Now()) }

// lock waits until no other goroutine uses the view.
func (v *view) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case v.turn <- struct{}{}:
		return func() { <-v.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
