// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"net/http"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// writeProblem answers with an error. The text of those that are not known is for the
// log alone.
func (h *Handler) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := h.problem(err)
	late := p.Code == codeTimeout && r.Context().Err() == nil // the client is not gone
	if late || p.Code == codeInternal || p.Code == codeCorrupt || p.Code == codeNewer || p.Code == codeEpoch || p.Code == codeClock {
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
		budget     *lease.BudgetError
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
	case errors.As(err, &budget):
		p.Status, p.Code = http.StatusTooManyRequests, codeTooMuch
		p.ServiceID, p.ThroughputPerMs, p.Leased, p.PerMs = budget.ServiceID, budget.ThroughputPerMs, budget.Leased, budget.PerMs
	default:
		return h.newProblem(p, err)
	}
	return p
}

// newProblem describes an error that has no data.
func (h *Handler) newProblem(p problem, err error) problem {
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
