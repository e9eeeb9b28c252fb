// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// The codes of problems. They never change their meaning.
const (
	codeInvalid          = "invalid"
	codeUnknownService   = "unknown-service"
	codeExhausted        = "exhausted"
	codeQuarantine       = "quarantine"
	codeEpoch            = "epoch"
	codeCorrupt          = "corrupt"
	codeNotFound         = "not-found"
	codeSignature        = "signature"
	codeExpiredTimestamp = "expired-timestamp"
	codeLastTs           = "last-ts"
	codeClock            = "clock"
	codeUnauthorized     = "unauthorized"
	codeForbidden        = "forbidden"
	codeTooMuch          = "too-much"
	codeTooManyServices  = "too-many-services"
	codeTooLarge         = "too-large"
	codeMediaType        = "media-type"
	codeMethod           = "method"
	codeNoResource       = "no-resource"
	codeTimeout          = "timeout"
	codeInternal         = "internal"
)

// problem is the body of an error, RFC 9457. The members behind Code are the
// data of the typed errors of package lease.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`

	ServiceID       string     `json:"serviceId,omitempty"`
	ThroughputPerMs int        `json:"throughputPerMs,omitempty"`
	Until           *time.Time `json:"until,omitempty"`
	Time            *time.Time `json:"time,omitempty"`
	First           *time.Time `json:"first,omitempty"`
	Last            *time.Time `json:"last,omitempty"`
	Key             []byte     `json:"key,omitempty"`
	Cause           string     `json:"cause,omitempty"`
	Stored          *layout    `json:"stored,omitempty"`
	Configured      *layout    `json:"configured,omitempty"`
}

// layout is an [idgen.Layout] under the specification's names.
type layout struct {
	CustomEpoch int64 `json:"customEpoch"`
	BitReserve  int   `json:"bitReserve"`
	BitTs       int   `json:"bitTs"`
	BitID       int   `json:"bitId"`
	BitSeq      int   `json:"bitSeq"`
}

func layoutOf(l idgen.Layout) layout {
	return layout{CustomEpoch: l.CustomEpochMs, BitReserve: l.BitReserve, BitTs: l.BitTs, BitID: l.BitID, BitSeq: l.BitSeq}
}

func (l layout) layout() idgen.Layout {
	return idgen.Layout{CustomEpochMs: l.CustomEpoch, BitReserve: l.BitReserve, BitTs: l.BitTs, BitID: l.BitID, BitSeq: l.BitSeq}
}

// StatusError is an answer of the server that is no error of package lease.
type StatusError struct {
	Status int    // the HTTP status
	Code   string // of the problem; empty if the answer was none
	Detail string
}

// Error names status, code and detail.
func (e *StatusError) Error() string {
	return fmt.Sprintf("lease/http: %d %s: %s", e.Status, e.Code, e.Detail)
}

// fault is an error of the protocol.
func fault(status int, code, format string, args ...any) error {
	return &StatusError{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// sentinels are the errors that are nothing but a code.
var sentinels = []struct {
	err    error
	status int
	code   string
}{
	{lease.ErrInvalid, http.StatusBadRequest, codeInvalid},
	{lease.ErrBudget, http.StatusTooManyRequests, codeTooMuch},
	{lease.ErrTooManyServices, http.StatusTooManyRequests, codeTooManyServices},
	{lease.ErrUnknownService, http.StatusNotFound, codeUnknownService},
	{lease.ErrNotFound, http.StatusNotFound, codeNotFound},
	{lease.ErrSignature, http.StatusForbidden, codeSignature},
	{lease.ErrExpiredTimestamp, http.StatusForbidden, codeExpiredTimestamp},
	{lease.ErrLastTs, http.StatusConflict, codeLastTs},
}

// refuse answers with an error. The text of those that are not known is for the
// log alone.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := h.problem(err)
	if p.Code == codeInternal || p.Code == codeCorrupt || p.Code == codeEpoch || p.Code == codeClock {
		h.options.Logger.ErrorContext(r.Context(), "lease/http: a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	p.Title = http.StatusText(p.Status)
	write(w, p.Status, "application/problem+json", p)
}

// problem describes an error.
func (h *Handler) problem(err error) problem {
	p := problem{Detail: err.Error()}
	var (
		status     *StatusError
		exhausted  *lease.ExhaustedError
		quarantine *lease.QuarantineError
		epoch      *lease.CustomEpochError
		corrupt    *lease.CorruptError
		clock      *idgen.TimeRangeError
	)
	switch {
	case errors.As(err, &status):
		p.Status, p.Code, p.Detail = status.Status, status.Code, status.Detail
	case errors.As(err, &exhausted):
		p.Status, p.Code = http.StatusServiceUnavailable, codeExhausted
		p.ServiceID, p.ThroughputPerMs = exhausted.ServiceID, exhausted.ThroughputPerMs
	case errors.As(err, &quarantine):
		p.Status, p.Code = http.StatusServiceUnavailable, codeQuarantine
		p.ServiceID, p.Until = quarantine.ServiceID, &quarantine.Until
	case errors.As(err, &epoch):
		stored, configured := layoutOf(epoch.Stored), layoutOf(epoch.Configured)
		p.Status, p.Code = http.StatusInternalServerError, codeEpoch
		p.ServiceID, p.Stored, p.Configured = epoch.ServiceID, &stored, &configured
	case errors.As(err, &corrupt):
		p.Status, p.Code = http.StatusInternalServerError, codeCorrupt
		p.ServiceID, p.Key, p.Cause = corrupt.ServiceID, corrupt.Key, corrupt.Cause.Error()
	case errors.As(err, &clock):
		p.Status, p.Code = http.StatusInternalServerError, codeClock
		p.Time, p.First, p.Last = &clock.Time, &clock.First, &clock.Last
	default:
		return h.plainProblem(p, err)
	}
	return p
}

// plainProblem describes an error that has no data.
func (h *Handler) plainProblem(p problem, err error) problem {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			p.Status, p.Code = s.status, s.code
			return p
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.Status, p.Code, p.Detail = http.StatusGatewayTimeout, codeTimeout, "the store did not answer in time"
		return p
	}
	p.Status, p.Code, p.Detail = http.StatusInternalServerError, codeInternal, "the store failed; the server's log has more"
	return p
}

// error is the inverse of problem: what the client returns.
func (p problem) error() error {
	switch p.Code {
	case codeExhausted:
		return &lease.ExhaustedError{ServiceID: p.ServiceID, ThroughputPerMs: p.ThroughputPerMs}
	case codeQuarantine:
		return &lease.QuarantineError{ServiceID: p.ServiceID, Until: moment(p.Until)}
	case codeEpoch:
		if p.Stored != nil && p.Configured != nil {
			return &lease.CustomEpochError{ServiceID: p.ServiceID, Stored: p.Stored.layout(), Configured: p.Configured.layout()}
		}
	case codeCorrupt:
		return &lease.CorruptError{ServiceID: p.ServiceID, Key: p.Key, Cause: errors.New(p.Cause)}
	case codeClock:
		return &idgen.TimeRangeError{Time: moment(p.Time), First: moment(p.First), Last: moment(p.Last)}
	}
	for _, s := range sentinels {
		if p.Code == s.code {
			return fmt.Errorf("%w: the server says: %s", s.err, p.Detail)
		}
	}
	return &StatusError{Status: p.Status, Code: p.Code, Detail: p.Detail}
}

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
