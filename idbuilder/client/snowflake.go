// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// Snowflake makes the IDs of a snowflake key: a timestamp, a leased worker id and a
// sequence; see [Client.Snowflake].
type Snowflake struct {
	client *Client
	key    string

	mu       sync.Mutex
	lease    *lease // nil: there was none
	last     int64  // Unix milliseconds of the last ID
	sequence int64  // of the next ID in that millisecond
	pending  *fetch // the request for a lease; nil: there is none
	timer    *time.Timer
	closed   bool
}

func newSnowflake(c *Client, key string) *Snowflake { return &Snowflake{client: c, key: key} }

// Next returns a new ID. It waits for the first lease, for the begin of a lease, for the next
// millisecond when the sequence of this one is used up, and for a clock that
// was set back by no more than [Options.MaxBackward]. It looks at ctx only while it
// waits. Errors are [ErrLease], [ErrClock], [ErrClosed], or the cause of
// ctx's end.
func (h *Snowflake) Next(ctx context.Context) (int64, error) {
	var dst [1]int64
	_, err := h.NextN(ctx, dst[:])
	return dst[0], err
}

// NextN fills dst with new IDs in ascending order and returns how many it made: all
// unless it returns an error. Errors are those of [Snowflake.Next].
func (h *Snowflake) NextN(ctx context.Context, dst []int64) (n int, err error) {
	leased := false
	for n < len(dst) {
		made, missing := h.fillIDs(dst[n:], !leased)
		n += made
		switch {
		case missing == nil:
		case missing.closed:
			return n, ErrClosed
		case !missing.expired.IsZero() && leased:
			return n, &leaseError{key: h.key, expired: missing.expired} // not even with the new lease
		case missing.lease != nil:
			leased = true
			h.client.count.waits.Add(1)
			err = h.awaitLease(ctx, missing)
		case missing.behind > h.client.options.MaxBackward:
			return n, h.clockError(missing.behind)
		default:
			err = sleep.For(ctx, max(missing.behind, missing.pause))
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// shortage is the reason for which there is no ID.
type shortage struct {
	closed  bool
	lease   *fetch        // of a lease, because there is none, or it has ended
	expired time.Time     // when the lease ended
	behind  time.Duration // how far the clock is behind
	pause   time.Duration // until the next millisecond
}

// awaitLease waits for a lease.
func (h *Snowflake) awaitLease(ctx context.Context, m *shortage) error {
	select {
	case <-m.lease.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := m.lease.err; err != nil && err != ErrClosed {
		return &leaseError{key: h.key, expired: m.expired, err: err}
	}
	return m.lease.err
}

// fillIDs fills dst with IDs of this millisecond as far as possible. It returns what is missing
// if it made none. If the lease has ended, it requests another one when mayRenew is set.
func (h *Snowflake) fillIDs(dst []int64, mayRenew bool) (int, *shortage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.client.options.Now()
	ms := now.UnixMilli()
	l := h.lease
	switch {
	case h.closed:
		return 0, &shortage{closed: true}
	case l == nil:
		return 0, &shortage{lease: h.startRequest()}
	case ms < max(l.start, h.last):
		return 0, &shortage{behind: time.Duration(max(l.start, h.last)-ms) * time.Millisecond}
	case ms >= l.expires:
		return 0, h.expiry(l, mayRenew)
	case ms > h.last:
		h.last, h.sequence = ms, 0
	}
	n := int64(0)
	for ; n < int64(len(dst)) && h.sequence < l.layout.sequences(); n++ {
		dst[n] = l.layout.id(ms, l.worker, h.sequence)
		h.sequence++
	}
	if n == 0 {
		return 0, &shortage{pause: now.Truncate(time.Millisecond).Add(time.Millisecond).Sub(now)}
	}
	return int(n), nil
}

// expiry reports that l has ended, and requests another lease when mayRenew is set.
func (h *Snowflake) expiry(l *lease, mayRenew bool) *shortage {
	s := &shortage{expired: time.UnixMilli(l.expires)}
	if mayRenew {
		s.lease = h.startRequest()
	}
	return s
}

// adoptLease starts to use a new lease. If it has another worker id or layout, its first ID has a
// later timestamp than the last ID.
func (h *Snowflake) adoptLease(next *lease) {
	if l := h.lease; l != nil && (l.worker != next.worker || l.layout != next.layout) {
		h.sequence = next.layout.sequences()
	}
	h.lease = next
}

// close makes later calls fail.
func (h *Snowflake) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
}

// Lease is the worker id that a [Snowflake] has, and the time in which it makes IDs with it.
type Lease struct {
	WorkerID int64
	// The handle makes IDs with timestamps in [Start, Expires), by this machine's clock.
	Start, Expires time.Time
}

// Lease returns the lease of the handle; ok is false before the first one.
func (h *Snowflake) Lease() (l Lease, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil {
		return l, false
	}
	return Lease{h.lease.worker, time.UnixMilli(h.lease.start), time.UnixMilli(h.lease.expires)}, true
}

// layout is the division of an ID.
type layout struct {
	base           int64 // Unix milliseconds of the timestamp 0
	skip           int
	ts, workers, n int // bits
}

func (l layout) sequences() int64 { return 1 << l.n }

func (l layout) id(ms, worker, sequence int64) int64 {
	return (ms-l.base)<<(l.workers+l.n) | worker<<l.n | sequence
}

// end returns the first millisecond for which the timestamp is too short.
func (l layout) end() int64 { return l.base + 1<<l.ts }

func (l layout) validate() error {
	if l.skip < 0 || l.ts < 1 || l.ts > 62 || l.workers < 1 || l.n < 1 || l.skip+l.ts+l.workers+l.n != 64 {
		return fmt.Errorf("skip_size %d, ts_size %d, worker_id_size %d and seq_size %d do not divide 64 bits", l.skip, l.ts, l.workers, l.n)
	}
	return nil
}

// clockError says how far the clock is behind, and what to do.
func (h *Snowflake) clockError(behind time.Duration) error {
	return fmt.Errorf("client: key %q: %w by %v (it may be by %v); check the NTP configuration or the system time settings",
		h.key, ErrClock, behind, max(h.client.options.MaxBackward, 0))
}

// String names the key.
func (h *Snowflake) String() string { return fmt.Sprintf("client.Snowflake(%q)", h.key) }

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
