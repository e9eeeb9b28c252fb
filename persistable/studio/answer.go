// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/studio/internal/job"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// statusError is an error with the status of its answer.
type statusError struct {
	status int
	err    error
}

// Error implements error.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *statusError) Unwrap() error { return e.err }

// invalid makes an error one of the request.
func invalid(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// answer returns the handler of a verb: its value as JSON, or its error.
func answer(do verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := do(r)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if err != nil {
			w.WriteHeader(statusOf(err))
			value = newFailure(err)
		}
		_ = json.NewEncoder(w).Encode(value) // the browser has gone
	}
}

// failure is an error as the page shows it.
type failure struct {
	Error   string `json:"error"`
	Outage  bool   `json:"outage,omitempty"`  // the database does not answer: the page tries again
	Unknown bool   `json:"unknown,omitempty"` // it is not known whether a change was made
}

func newFailure(err error) failure {
	return failure{err.Error(), is[*outage](err), kv.IsOutcomeUnknown(err)}
}

// statusOf returns the status of an error's answer.
func statusOf(err error) int {
	var known *statusError
	switch {
	case errors.As(err, &known):
		return known.status
	case isTooLarge(err):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, persistable.ErrNotFound), errors.Is(err, directory.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, persistable.ErrChanged):
		return http.StatusPreconditionFailed
	case isOneOf(err, job.ErrClosed, kv.ErrClosed), is[*outage](err):
		return http.StatusServiceUnavailable
	case isOneOf(err, job.ErrRunning, tenants.ErrExists, tenants.ErrLockLost), isRefusal(err):
		return http.StatusConflict
	case isOneOf(err, persistable.ErrBadToken, directory.ErrPath, directory.ErrRoot, lease.ErrInvalid), isFault(err):
		return http.StatusBadRequest
	case kv.CodeOf(err) == kv.CodeTransactionReadOnly:
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// isTooLarge reports whether a request, or the record that it saves, has more bytes than possible.
func isTooLarge(err error) bool {
	var record *persistable.RecordError
	if errors.As(err, &record) {
		return record.Key == nil // bytes that cannot be read have a key
	}
	return is[*http.MaxBytesError](err) || kv.CodeOf(err) == kv.CodeTransactionTooLarge
}

func isOneOf(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// isRefusal reports whether an error says that the state of the database does not permit what was
// asked for.
func isRefusal(err error) bool {
	return errors.Is(err, persistable.ErrLocked) || errors.Is(err, persistable.ErrQuota) || is[*persistable.UniqueError](err) || is[*persistable.NotUniqueError](err) ||
		errors.Is(err, persistable.ErrExists) || errors.Is(err, persistable.ErrNotBuilt) || errors.Is(err, persistable.ErrForeignIndex)
}

// isFault reports whether an error is about the request itself.
func isFault(err error) bool {
	return is[*persistable.FieldError](err) || is[*persistable.DirectoryError](err) || errors.Is(err, persistable.ErrNoIndex) || errors.Is(err, persistable.ErrFilterLimit) ||
		errors.Is(err, tenants.ErrName) || errors.Is(err, dynamic.ErrSeveralTypes)
}

func is[E error](err error) bool { return errors.As(err, new(E)) }

// pathOf returns the path of a directory in a request: its parameters p.
func pathOf(r *http.Request) []string { return list(r.URL.Query()["p"]) }

// list returns a list that is [] in JSON if it is empty: a page reads the length of a list, which
// null does not have.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// limitOf returns the parameter limit, from 1 to most.
func limitOf(r *http.Request, most int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return min(100, most), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("limit: %q is not a number from 1 to %d", text, most)
	}
	return n, nil
}

// readBody reads the body of a request. A member that is not known is an error.
func readBody(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if is[*http.MaxBytesError](err) {
			return fmt.Errorf("the body of the request: %w", err)
		}
		return &statusError{http.StatusBadRequest, fmt.Errorf("the body of the request: %w", err)}
	}
	return nil
}

//go:embed static
var static embed.FS

// contentTypes has the types of files by their endings, since the system's table may differ.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}

func servePage(w http.ResponseWriter, r *http.Request) { sendFile(w, r, "index.html") }

func serveStatic(w http.ResponseWriter, r *http.Request) { sendFile(w, r, r.PathValue("file")) }

func sendFile(w http.ResponseWriter, r *http.Request, name string) {
	content, err := static.ReadFile(path.Join("static", path.Clean("/"+name)))
	kind := contentTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// closedFiles are what the page without a session consists of.
var closedFiles = []string{"style.css", "icon.svg", "enter.js"}

// serveClosed answers requests without a session. Pages get an explanation in their own looks.
func serveClosed(w http.ResponseWriter, r *http.Request) {
	if name := path.Base(r.URL.Path); path.Base(path.Dir(r.URL.Path)) == "static" && slices.Contains(closedFiles, name) {
		sendFile(w, r, name)
		return
	}
	if path.Base(path.Dir(r.URL.Path)) == "api" {
		answer(func(*http.Request) (any, error) {
			return nil, &statusError{http.StatusUnauthorized, errNoSession}
		})(w, r)
		return
	}
	content, _ := static.ReadFile("static/closed.html") // embedded: it is there
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(content) // the browser has gone
}
