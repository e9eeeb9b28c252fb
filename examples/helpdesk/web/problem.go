// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// problem is an error that the client has made, and its status.
type problem struct {
	status int
	detail string
}

// Error implements error.
func (p *problem) Error() string { return p.detail }

func problemf(status int, format string, args ...any) error {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// statusOf returns the status with which an error is answered:
//
//	400 the request cannot be read      409 another record has the value
//	401 the key is void                 412 the record has changed
//	404 there is no such record         422 the record is refused
//	503 nothing is wrong with the request: try again later
func statusOf(err error) int {
	switch {
	case kv.IsOutcomeUnknown(err): // the rest may be of a later attempt, which has found what an earlier one wrote
		return http.StatusServiceUnavailable
	case is[*problem](err):
		return as[*problem](err).status
	case errors.Is(err, desk.ErrBadKey):
		return http.StatusUnauthorized
	case errors.Is(err, persistable.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, persistable.ErrBadToken):
		return http.StatusBadRequest
	case is[*persistable.UniqueError](err):
		return http.StatusConflict
	case errors.Is(err, persistable.ErrChanged):
		return http.StatusPreconditionFailed
	case errors.Is(err, persistable.ErrRefused), errors.Is(err, persistable.ErrFilterLimit):
		return http.StatusUnprocessableEntity
	case unavailable(err):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// unavailable reports whether the same request may succeed later.
func unavailable(err error) bool {
	return errors.Is(err, persistable.ErrLocked) || // the tenant is being exported
		errors.Is(err, persistable.ErrNotBuilt) || // an index is being built
		is[*kv.RetryError](err) || // too much contention
		kv.IsRetryable(err) ||
		errors.Is(err, persistable.ErrNoID) || // no lease on a machine id yet
		errors.Is(err, kv.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}

func as[T error](err error) (target T) {
	errors.As(err, &target)
	return target
}

func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// fail answers with an error. What the client has not caused is logged, and its text is
// not sent.
func fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	if r.Context().Err() == context.Canceled {
		return // the client has gone
	}
	status, detail := statusOf(err), err.Error()
	if status >= http.StatusInternalServerError {
		log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
		detail = ""
	}
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	writeJSON(w, status, problemJSON{http.StatusText(status), status, detail})
}

// problemJSON is the body of an answer with an error.
type problemJSON struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}
