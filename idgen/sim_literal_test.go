// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// The rules of the kazahana specification taken literally, to see what the
// simulation does to them. What the text leaves open is decided in its favour:
// a renewal asks for at least one lease, and random IDs are reached.

// literalServer is the specification's section 7.3.
type literalServer struct {
	layout   idgen.Layout
	duration time.Duration

	mu     sync.Mutex
	leases map[int64]idgen.Lease
	last   int64
}

func newLiteralServer(layout idgen.Layout, duration time.Duration) *literalServer {
	return &literalServer{layout: layout, duration: duration, leases: map[int64]idgen.Lease{}, last: -1}
}

// literalRedis is the provider of section 7.2, which goes by its client's clock.
type literalRedis struct {
	*literalServer
	clock *clockwork
}

func (r literalRedis) Acquire(_ context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	return r.grant(r.clock.read().UnixMilli(), req)
}

func (s *literalServer) Acquire(_ context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	return s.grant(time.Now().UnixMilli(), req)
}

func (s *literalServer) grant(now int64, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 1 << s.layout.SequenceBits
	count := (req.Throughput + size - 1) / size
	ids := int64(1) << (s.layout.MachineBits - 1)
	var results []idgen.Lease
	for i, start := int64(0), s.last+1; i < ids && len(results) < count; i++ {
		id := (start + i) % ids
		if existing, ok := s.leases[id]; ok && existing.Expired >= now {
			continue
		}
		l := idgen.Lease{
			ID: id, Created: now, Expired: now + s.duration.Milliseconds(), Secret: "secret", CustomEpoch: s.layout.CustomEpoch,
			ReserveBits: s.layout.ReserveBits, TimestampBits: s.layout.TimestampBits, MachineBits: s.layout.MachineBits, SequenceBits: s.layout.SequenceBits,
		}
		s.leases[id], s.last = l, id
		results = append(results, l)
	}
	if len(results) == 0 {
		return nil, errors.New("no machine ID available")
	}
	return results, nil
}

func (s *literalServer) Release(_ context.Context, req idgen.ReleaseRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.leases[req.ID]; !ok {
		return errors.New("lease not found")
	}
	delete(s.leases, req.ID)
	return nil
}

// literalClient is the specification's sections 5.4 to 5.10.
type literalClient struct {
	provider idgen.LeaseProvider
	opts     idgen.Options
	last     int64
	leases   []*literalLease
	cached   *literalLease
	failures int
	retryAt  time.Time
}

// literalLease has the sequence of a lease, and that of its fallback IDs.
type literalLease struct {
	idgen.Lease
	ts, seq           int64
	fallbackTs, fbSeq int64
}

func newLiteralClient(p idgen.LeaseProvider, opts idgen.Options) *literalClient {
	return &literalClient{provider: p, opts: opts}
}

func (c *literalClient) NextN(_ context.Context, ids []idgen.ID) (int, error) {
	for i := range ids {
		id, err := c.next()
		if err != nil {
			return i, err
		}
		ids[i] = id
	}
	return len(ids), nil
}

var errExhausted = errors.New("the millisecond is used up")

func (c *literalClient) next() (idgen.ID, error) {
	ts, err := c.timestamp()
	if err != nil {
		return 0, err
	}
	c.renew(ts)
	for range 2 {
		for _, l := range c.leases {
			if ts < l.Expired && (l.ts != ts || l.seq < 1<<l.SequenceBits) {
				if l.ts != ts {
					l.ts, l.seq = ts, 0
				}
				l.seq++
				return c.id(ts, l.Base()+uint64(l.seq-1)), nil
			}
		}
		if !time.Now().Before(c.retryAt) && c.throughput() < c.opts.MaxThroughput {
			c.acquire()
		}
	}
	if l := c.fallback(); l != nil && !c.opts.DisableFallback {
		if l.fallbackTs != ts {
			l.fallbackTs, l.fbSeq = ts, 0
		}
		if l.fbSeq < 1<<l.SequenceBits {
			l.fbSeq++
			return c.id(ts, 1<<(c.opts.Layout.MachineBits+c.opts.Layout.SequenceBits-1)+l.Base()+uint64(l.fbSeq-1)), nil
		}
	}
	return 0, errExhausted
}

func (c *literalClient) id(ts int64, position uint64) idgen.ID {
	return idgen.ID((ts-c.opts.Layout.CustomEpoch)<<(c.opts.Layout.MachineBits+c.opts.Layout.SequenceBits) | int64(position))
}

// timestamp is section 5.6.
func (c *literalClient) timestamp() (int64, error) {
	ts := c.opts.Now().UnixMilli()
	if backward := c.last - ts; backward > 0 {
		if backward > 5000 {
			return 0, &idgen.ClockBackwardError{}
		}
		time.Sleep(time.Duration(backward) * time.Millisecond)
		ts = c.opts.Now().UnixMilli()
	}
	c.last = ts
	return ts, nil
}

// renew is section 5.5.
func (c *literalClient) renew(ts int64) {
	if len(c.leases) > 0 && !time.Now().Before(c.retryAt) {
		if l := c.leases[len(c.leases)-1]; float64(ts-l.Created) > 0.9*float64(l.Expired-l.Created) {
			c.acquire()
		}
	}
}

func (c *literalClient) throughput() int {
	total := 0
	for _, l := range c.leases {
		total += l.Throughput()
	}
	return total
}

func (c *literalClient) acquire() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	leases, err := c.provider.Acquire(ctx, idgen.AcquireRequest{Throughput: max(c.opts.MaxThroughput-c.throughput(), 1)})
	if err != nil {
		c.failures++
		c.retryAt = time.Now().Add(min(c.opts.AcquireRetryInterval<<min(c.failures-1, 10), c.opts.AcquireRetryMaxInterval))
		return
	}
	c.failures = 0
	for _, l := range leases {
		c.leases = append(c.leases, &literalLease{Lease: l})
	}
	slices.SortFunc(c.leases, func(a, b *literalLease) int { return cmp.Compare(a.ID, b.ID) })
	now := c.opts.Now().UnixMilli()
	c.leases = slices.DeleteFunc(c.leases, func(l *literalLease) bool {
		if now >= l.Expired {
			c.cached = l
		}
		return now >= l.Expired
	})
}

func (c *literalClient) fallback() *literalLease {
	if len(c.leases) > 0 {
		return c.leases[0]
	}
	return c.cached
}

func (c *literalClient) Shutdown(ctx context.Context) error {
	for _, l := range c.leases {
		_ = c.provider.Release(ctx, l.Release("", 0, c.opts.Now()))
	}
	return nil
}
