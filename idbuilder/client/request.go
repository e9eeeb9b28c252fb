// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// request is a request to the service. It may be sent more than once.
type request struct {
	method, path string
	query        url.Values
	body         []byte // JSON; nil: none
	// read reads the data of the answer; nil: it has none.
	read func(data json.RawMessage) error
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 16 << 20

// envelope is an answer before its data is read.
type envelope struct {
	Code    *api.Code       `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// withoutURL leaves the URL out of an error of net/http: its query may have a
// lease key.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// readAnswer reads an answer: an [*api.Error] if the service refuses, an [ErrAnswer] if
// it is not the service's.
func readAnswer(response *http.Response, body []byte, read func(json.RawMessage) error) error {
	if len(body) > maxAnswer {
		return &answerError{response.StatusCode, fmt.Sprintf("it is larger than %d bytes", maxAnswer), nil}
	}
	var answer envelope
	err := json.Unmarshal(body, &answer)
	to := access.RedirectOrigin(response)
	switch {
	case (err != nil || answer.Code == nil) && response.StatusCode >= 400:
		return proxyRefusal(response, body)
	case to != "":
		return &answerError{response.StatusCode, "it redirects to " + to + ", which the client does not follow: give the URL of the service itself", nil}
	case err != nil:
		return &answerError{response.StatusCode, "it is not JSON", err}
	case answer.Code == nil:
		return &answerError{response.StatusCode, "it has no code", nil}
	case *answer.Code != api.OK:
		return &api.Error{Code: *answer.Code, Status: response.StatusCode, Message: answer.Message, RetryAfter: retryAfter(response)}
	case response.StatusCode != http.StatusOK:
		return &answerError{response.StatusCode, "its code is 0", nil}
	case read == nil:
		return nil
	}
	if err := read(answer.Data); err != nil {
		return &answerError{response.StatusCode, "its data cannot be read", err}
	}
	return nil
}

// proxyRefusal returns the refusal of a proxy in front of the service.
func proxyRefusal(response *http.Response, body []byte) error {
	code := api.Internal
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized:
		code = api.Authentication
	case status == http.StatusForbidden:
		code = api.Authorization
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		code = api.Unavailable
	case status < 500:
		code = api.Invalid
	}
	return &api.Error{
		Code: code, Status: response.StatusCode, RetryAfter: retryAfter(response),
		Message: fmt.Sprintf("%s, and not in the ID service's form: %.100q", response.Status, body),
	}
}

// retryAfter returns how long the answer says to wait; 0: it does not.
func retryAfter(response *http.Response) time.Duration {
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// Errors.
var (
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("client: it was closed")
	// ErrExhausted says that the key has no further ID (code 4003).
	ErrExhausted = errors.New("client: the key is exhausted")
	// ErrNotFound says that there is no such key (code 3001).
	ErrNotFound = errors.New("client: there is no such key")
	// ErrUnauthenticated says that the token is missing, wrong or has expired (code 2001).
	ErrUnauthenticated = errors.New("client: the token is not valid")
	// ErrForbidden says that the token does not permit the request (code 2002).
	ErrForbidden = errors.New("client: the token is not one for this")
	// ErrRateLimited says that there are too many requests with the token (status 429).
	ErrRateLimited = errors.New("client: too many requests")
	// ErrOrder says that the service keeps giving numbers that come before those given already, as it
	// does after an operator moved the sequence back by force. [Options.AnyOrder] accepts them.
	ErrOrder = errors.New("client: the service gives numbers that come before those given already")
	// ErrLease says that a [Snowflake] has no lease that covers the time of its clock, and could get
	// none. No ID was made; the next call asks the service again.
	ErrLease = errors.New("client: no lease")
	// ErrClock says that this machine's clock is before the last ID that was made, or before the
	// begin of the lease, by more than [Options.MaxBackward]. No ID was made; the handle makes IDs
	// again when the clock has caught up.
	ErrClock = errors.New("the clock is behind")
	// ErrAnswer says that an answer is not the ID service's: another program serves the URL, or a
	// proxy has changed the answer.
	ErrAnswer = errors.New("client: the answer is not the ID service's")
)

// RequestError is a request that failed. errors.Is finds [ErrExhausted] and the
// other errors by the code of the service's answer.
type RequestError struct {
	Method, Path string
	Key          string // empty: the request names none
	Tries        int
	Err          error // of the last try

	// The service's answer to the last try; 0: there was none.
	Code       int           // such as 1003
	Status     int           // of HTTP
	RetryAfter time.Duration // after which the service asks to try again; 0: it does not say

	uncertain bool // a try before the last one may have been carried out
}

// requestError returns the error of a request that was sent so many times.
func requestError(r request, tries int, err error, uncertain bool) *RequestError {
	e := &RequestError{Method: r.method, Path: r.path, Key: r.query.Get("key"), Tries: tries, Err: err, uncertain: uncertain}
	var refusal *api.Error
	if errors.As(err, &refusal) {
		e.Code, e.Status, e.RetryAfter = int(refusal.Code), refusal.HTTPStatus(), refusal.RetryAfter
	}
	return e
}

// Error names the request.
func (e *RequestError) Error() string {
	text := "client: " + e.Method + " " + e.Path
	if e.Key != "" {
		text += fmt.Sprintf(" (key %q)", e.Key)
	}
	if e.Tries > 1 {
		text += fmt.Sprintf(", tried %d times", e.Tries)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the error of the last try.
func (e *RequestError) Unwrap() error { return e.Err }

// Is reports whether target stands for the code of the service's answer.
func (e *RequestError) Is(target error) bool {
	var refusal *api.Error
	if !errors.As(e.Err, &refusal) {
		return false
	}
	switch target {
	case ErrExhausted:
		return refusal.Code == api.Exhausted
	case ErrNotFound:
		return refusal.Code == api.NotFound
	case ErrUnauthenticated:
		return refusal.Code == api.Authentication
	case ErrForbidden:
		return refusal.Code == api.Authorization
	case ErrRateLimited:
		return refusal.Status == 429
	}
	return false
}

// answerError is an [ErrAnswer].
type answerError struct {
	status int // of HTTP
	reason string
	err    error // may be nil
}

// Error says what is wrong with the answer.
func (e *answerError) Error() string {
	text := fmt.Sprintf("the answer (status %d) is not the ID service's: %s", e.status, e.reason)
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *answerError) Unwrap() []error { return causes(ErrAnswer, e.err) }

// leaseError is an [ErrLease].
type leaseError struct {
	key     string
	expired time.Time // when the last lease ended; zero: there was none
	err     error     // why there is no other lease; nil: this machine's clock is past the end of the new one
}

// Error tells why.
func (e *leaseError) Error() string {
	text := fmt.Sprintf("client: key %q has no lease", e.key)
	if !e.expired.IsZero() {
		text += fmt.Sprintf(" since %s", e.expired.UTC().Format(time.RFC3339Nano))
	}
	if e.err == nil {
		return text + ": this machine's clock is ahead of the service's by more than a lease lasts"
	}
	return text + ": " + e.err.Error()
}

// Unwrap returns [ErrLease] and the cause.
func (e *leaseError) Unwrap() []error { return causes(ErrLease, e.err) }

// causes returns a sentinel, and the cause if there is one.
func causes(sentinel, err error) []error {
	if err == nil {
		return []error{sentinel}
	}
	return []error{sentinel, err}
}
