// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Code says how a request ended. The table is the specification's.
type Code int

// Codes.
const (
	OK             Code = 0
	Invalid        Code = 1001 // a parameter is wrong
	InvalidKey     Code = 1002 // the key is not well-formed
	SizeLimit      Code = 1003 // size is out of its range
	DeltaLimit     Code = 1004 // delta is out of its range
	Authentication Code = 2001 // there is no token, or it is not valid
	Authorization  Code = 2002 // the token does not permit the request
	NotFound       Code = 3001 // there is no such key
	Internal       Code = 4001 // a fault of the service
	Unavailable    Code = 4002 // the store or the worker cannot answer now
	Exhausted      Code = 4003 // the sequence has no further number
)

// Status returns the HTTP status of a code.
func (c Code) Status() int {
	switch c {
	case OK:
		return http.StatusOK
	case Invalid, InvalidKey, SizeLimit, DeltaLimit:
		return http.StatusBadRequest
	case Authentication:
		return http.StatusUnauthorized
	case Authorization:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Unavailable, Exhausted:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Error is an answer with a code other than OK.
type Error struct {
	Code       Code
	Status     int           // of HTTP; 0: that of the code
	Message    string        // names the parameter and what is allowed
	RetryAfter time.Duration // when to ask again; 0: it is not known
	Err        error         // the cause, for the log; the client does not see it
}

// Errorf returns an error with the status of its code.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("idbuilder: %s (code %d)", e.Message, e.Code) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns Status, or that of the code.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	return e.Code.Status()
}

// Success is the message of answers with the code OK.
const Success = "success"

// Reply is the envelope of each answer.
type Reply[T any] struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Data    T      `json:"data"`
}

// Numbers is the data of GET /v1/id/increment. ID and IDs are the same, for the
// two dialects. Texts has them as decimal texts if one is beyond ±(2^53−1), which JavaScript cannot hold.
type Numbers struct {
	ID    []int64  `json:"id"`
	IDs   []int64  `json:"ids"`
	Texts []string `json:"id_str,omitempty"`
}

// Texts is the data of GET /v1/id/formatted. ID and IDs are the same.
type Texts struct {
	ID  []string `json:"id"`
	IDs []string `json:"ids"`
}

// Snowflake is the data of GET /v1/id/snowflake: the layout in both dialects, and the
// worker id that the client has until LeaseExpires.
type Snowflake struct {
	SkipSize     int   `json:"skip_size"`
	BaseTS       int64 `json:"base_ts"`
	TSSize       int   `json:"ts_size"`
	WorkerID     int64 `json:"worker_id"`
	WorkerIDSize int   `json:"worker_id_size"`
	SeqSize      int   `json:"seq_size"`

	Epoch        int64 `json:"epoch"`
	WorkerBits   int   `json:"worker_bits"`
	SequenceBits int   `json:"sequence_bits"`

	// LeaseKey renews the lease: ask with lease_key again before LeaseExpires.
	LeaseKey string `json:"lease_key"`
	// LeaseDuration is in seconds from the answer; ask again after a third of it.
	LeaseDuration float64 `json:"lease_duration"`
	LeaseStart    int64   `json:"lease_start"`   // Unix milliseconds: make no ID before
	LeaseExpires  int64   `json:"lease_expires"` // Unix milliseconds: make no ID at that time or later
}

// Token is the data of GET /v1/auth/token and /v1/auth/tokenreset.
type Token struct {
	Key       string `json:"key"`
	Token     string `json:"token"`
	Type      string `json:"token_type"`           // "key"
	ExpiresAt string `json:"expires_at,omitempty"` // ISO 8601; none: it does not expire
}

// Page is the data of GET /v1/config/list.
type Page struct {
	Items      []Summary `json:"items"`
	NextCursor *string   `json:"next_cursor"`
	HasMore    bool      `json:"has_more"`
}

// Summary is an item of a Page.
type Summary struct {
	Key    string `json:"key"`
	IDType string `json:"id_type"`
	Name   string `json:"name,omitempty"`
	Error  string `json:"error,omitempty"` // why the configuration cannot be read
}

// Health is the data of GET /health.
type Health struct {
	Status  string `json:"status"` // "healthy"
	Version string `json:"version"`
}

// Readiness is the data of GET /ready.
type Readiness struct {
	Ready      bool            `json:"ready"`
	Components map[string]bool `json:"components"`
	// Notes say why a component is not ready, or which limits it has.
	Notes map[string]string `json:"notes,omitempty"`
}

// Format implements [fmt.Formatter]: the token is left out.
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }

// LogValue implements [slog.LogValuer]: the token is left out.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }

// withoutSecret returns the token without its text, as a type without methods.
func (t Token) withoutSecret() any {
	type token = Token
	type Token token // the name that %#v prints
	t.Token = redact.Secret(t.Token)
	return Token(t)
}

// Format implements [fmt.Formatter]: the lease key is left out.
func (s Snowflake) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, s.withoutSecret())
}

// LogValue implements [slog.LogValuer]: the lease key is left out.
func (s Snowflake) LogValue() slog.Value { return slog.AnyValue(s.withoutSecret()) }

func (s Snowflake) withoutSecret() any {
	type snowflake = Snowflake
	type Snowflake snowflake
	s.LeaseKey = redact.Secret(s.LeaseKey)
	return Snowflake(s)
}
