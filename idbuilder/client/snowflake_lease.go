// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// lease is a worker id and the time in which the handle may make IDs with it.
type lease struct {
	layout         layout
	worker         int64
	start, expires int64 // Unix milliseconds: from start, before expires
	key            string
	duration       time.Duration
}

func newLease(s api.Snowflake) (*lease, error) {
	l := &lease{
		layout: layout{base: s.BaseTS, skip: s.SkipSize, ts: s.TSSize, workers: s.WorkerIDSize, n: s.SeqSize},
		worker: s.WorkerID, start: s.LeaseStart, expires: s.LeaseExpires, key: s.LeaseKey,
		duration: time.Duration(s.LeaseDuration * float64(time.Second)),
	}
	if err := l.layout.validate(); err != nil {
		return nil, err
	}
	l.start, l.expires = max(l.start, l.layout.base), min(l.expires, l.layout.end())
	switch {
	case l.worker < 0 || l.worker >= 1<<l.layout.workers:
		return nil, fmt.Errorf("worker_id is %d; it has %d bits", l.worker, l.layout.workers)
	case l.expires <= l.start || l.key == "" || l.duration <= 0 || l.duration > 100*24*time.Hour:
		return nil, fmt.Errorf("lease_key, lease_duration, lease_start or lease_expires is missing or wrong (from %d to %d, for %v)", s.LeaseStart, s.LeaseExpires, l.duration)
	}
	return l, nil
}

// startRequest starts a request for a lease, unless one is running.
func (h *Snowflake) startRequest() *fetch {
	if h.pending == nil {
		h.pending = &fetch{done: make(chan struct{})}
		held := h.lease
		h.client.running.Go(func() { h.acceptLease(h.requestLease(held)) })
	}
	return h.pending
}

// requestLease requests a lease, or the renewal of held.
func (h *Snowflake) requestLease(held *lease) (l *lease, err error) {
	query := url.Values{"key": {h.key}}
	if held == nil || held.key == "" {
		query.Set("renews", "true")
	} else {
		query.Set("lease_key", held.key)
	}
	err = h.client.send(h.client.context, request{
		method: http.MethodGet, path: "/v1/id/snowflake", query: query,
		read: func(data json.RawMessage) error {
			var s api.Snowflake
			err := json.Unmarshal(data, &s)
			if err == nil {
				l, err = newLease(s)
			}
			return err
		},
	})
	return l, err
}

// acceptLease handles the answer to a request, and sets the time of the next one.
func (h *Snowflake) acceptLease(l *lease, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.pending
	h.pending = nil
	if f.err = err; h.closed {
		f.err = ErrClosed
	}
	close(f.done)
	switch {
	case h.closed && err == nil:
		h.lease = l // which Close releases
	case h.closed:
	case err == nil:
		h.client.count.leases.Add(1)
		h.adoptLease(l)
		h.renewAfter(l.duration / 3)
	case h.lease != nil:
		h.forgetKey(err)
		h.renewAfter(max(h.lease.duration/12, time.Second))
	}
}

// forgetKey makes the next request ask for another lease if the service does not
// accept the key of this one.
func (h *Snowflake) forgetKey(err error) {
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.Code == api.Invalid {
		without := *h.lease
		without.key = ""
		h.lease = &without
	}
}

// renewAfter renews the lease after a time. If the lease has ended by then, the next call for an
// ID requests another one.
func (h *Snowflake) renewAfter(d time.Duration) {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timer = time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed && h.client.options.Now().UnixMilli() < h.lease.expires {
			h.startRequest()
		}
	})
}

// release releases the lease of a handle that is closed. If that fails, the lease ends by itself.
func (h *Snowflake) release(ctx context.Context) {
	h.mu.Lock()
	held := h.lease
	h.lease = nil
	h.mu.Unlock()
	if held == nil || held.key == "" {
		return
	}
	_ = h.client.send(ctx, request{method: http.MethodDelete, path: "/v1/id/snowflake", query: url.Values{"key": {h.key}, "lease_key": {held.key}}})
}
