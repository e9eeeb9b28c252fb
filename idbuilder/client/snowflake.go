// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

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
// waits. Errors are a [*LeaseError], a [*ClockError], [ErrClosed], or the cause of
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
			return n, &LeaseError{Key: h.key, Expired: missing.expired} // not even with the new lease
		case missing.lease != nil:
			leased = true
			h.client.count.waits.Add(1)
			err = h.awaitLease(ctx, missing)
		case missing.behind > h.client.options.MaxBackward:
			return n, &ClockError{h.key, missing.behind, h.client.options.MaxBackward}
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
		return &LeaseError{Key: h.key, Expired: m.expired, Err: err}
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

// Lease returns the worker id of the handle and between which times it makes IDs;
// ok is false before the first lease.
func (h *Snowflake) Lease() (worker int64, start, expires time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil {
		return 0, start, expires, false
	}
	return h.lease.worker, time.UnixMilli(h.lease.start), time.UnixMilli(h.lease.expires), true
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

// end returns the first millisecond whose timestamp does not fit.
func (l layout) end() int64 { return l.base + 1<<l.ts }

func (l layout) validate() error {
	if l.skip < 0 || l.ts < 1 || l.ts > 62 || l.workers < 1 || l.n < 1 || l.skip+l.ts+l.workers+l.n != 64 {
		return fmt.Errorf("skip_size %d, ts_size %d, worker_id_size %d and seq_size %d do not divide 64 bits", l.skip, l.ts, l.workers, l.n)
	}
	return nil
}

// String names the key.
func (h *Snowflake) String() string { return fmt.Sprintf("client.Snowflake(%q)", h.key) }

// Format implements [fmt.Formatter]: a handle prints its key, never that of its lease.
func (h *Snowflake) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue implements [slog.LogValuer].
func (h *Snowflake) LogValue() slog.Value { return slog.StringValue(h.String()) }
