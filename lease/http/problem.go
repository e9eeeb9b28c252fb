// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
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
	codeNewer            = "newer"
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

// problem is the body of an error, RFC 9457. The members after Code are the
// data of errors that have some.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`

	ServiceID  string          `json:"serviceId,omitempty"`
	Throughput int             `json:"throughputPerMs,omitempty"`
	Leased     int             `json:"leased,omitempty"`
	PerMs      int             `json:"perMs,omitempty"`
	Until      *time.Time      `json:"until,omitempty"`
	Time       *time.Time      `json:"time,omitempty"`
	First      *time.Time      `json:"first,omitempty"`
	Last       *time.Time      `json:"last,omitempty"`
	Key        []byte          `json:"key,omitempty"`
	Cause      string          `json:"cause,omitempty"`
	Stored     *refusal.Layout `json:"stored,omitempty"`
	Configured *refusal.Layout `json:"configured,omitempty"`
}

// sentinels are the errors that are nothing but a code, and the codes of errors without their data:
// a provider of another module cannot name the types.
var sentinels = []struct {
	err    error
	status int
	code   string
}{
	{lease.ErrInvalid, http.StatusBadRequest, codeInvalid},
	{lease.ErrExhausted, http.StatusServiceUnavailable, codeExhausted},
	{lease.ErrQuarantine, http.StatusServiceUnavailable, codeQuarantine},
	{lease.ErrBudget, http.StatusTooManyRequests, codeTooMuch},
	{lease.ErrTooManyServices, http.StatusTooManyRequests, codeTooManyServices},
	{lease.ErrUnknownService, http.StatusNotFound, codeUnknownService},
	{lease.ErrNotFound, http.StatusNotFound, codeNotFound},
	{lease.ErrSignature, http.StatusForbidden, codeSignature},
	{lease.ErrExpiredTimestamp, http.StatusForbidden, codeExpiredTimestamp},
	{lease.ErrLastTs, http.StatusConflict, codeLastTs},
	{lease.ErrNewer, http.StatusInternalServerError, codeNewer},
	{lease.ErrCorrupt, http.StatusInternalServerError, codeCorrupt},
	{idgen.ErrCustomEpochMismatch, http.StatusInternalServerError, codeEpoch},
}

// toError is the inverse of problem: what the client returns.
func (p problem) toError() error {
	switch p.Code {
	case codeExhausted:
		if p.ServiceID != "" {
			return &refusal.ExhaustedError{ServiceID: p.ServiceID, Throughput: p.Throughput}
		}
	case codeQuarantine:
		if p.Until != nil {
			return &refusal.QuarantineError{ServiceID: p.ServiceID, Until: *p.Until}
		}
	case codeEpoch:
		if p.Stored != nil && p.Configured != nil {
			return &refusal.EpochMismatchError{ServiceID: p.ServiceID, Want: *p.Configured, Got: *p.Stored}
		}
	case codeCorrupt:
		if p.ServiceID != "" {
			return &refusal.CorruptError{ServiceID: p.ServiceID, Key: p.Key, Cause: errors.New(p.Cause)}
		}
	case codeTooMuch:
		if p.ServiceID != "" { // older servers send no figures
			return &refusal.BudgetError{ServiceID: p.ServiceID, Throughput: p.Throughput, Leased: p.Leased, PerMs: p.PerMs}
		}
	case codeClock:
		return &refusal.TimeRangeError{Time: timeOrZero(p.Time), First: timeOrZero(p.First), Last: timeOrZero(p.Last)}
	}
	for _, s := range sentinels {
		if p.Code == s.code {
			return fmt.Errorf("%w: the server says: %s", s.err, p.Detail)
		}
	}
	return &StatusError{Status: p.Status, Code: p.Code, Detail: p.Detail}
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
