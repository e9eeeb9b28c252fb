// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// grantor is a provider for tests of the client: the rules of fences and of
// continued leases, faults on demand, and a record of what was asked.
type grantor struct {
	now      func() time.Time
	layout   Layout
	duration time.Duration

	mu       sync.Mutex
	latency  time.Duration // of each call
	delay    time.Duration // of the reply to the next request, after its leases are granted; an error is as late
	down     error         // what calls return
	hang     bool          // calls last until their ctx ends
	deaf     chan struct{} // not nil: calls last until it is closed, and then fail
	lose     int           // replies to lose
	most     int           // throughput that is refused beyond; 0: any
	mutate   func(*Lease)
	blocks   map[int64]*blockState
	next     int64 // id to look at first
	byKey    map[string][]Lease
	asked    []AcquireRequest
	askedAt  []time.Time
	released []ReleaseRequest
}

// blockState is what a provider keeps of a machine id.
type blockState struct {
	lease    Lease
	fence    int64 // no IDs before
	fallback int64 // no fallback IDs before
	free     bool
}

var (
	errDown = errors.New("provider is down")
	errLost = errors.New("reply was lost")
	errMuch = errors.New("that is too much")
)

func newGrantor(now func() time.Time) *grantor {
	return &grantor{
		now: now, layout: DefaultLayout(), duration: 10 * time.Minute,
		blocks: map[int64]*blockState{}, byKey: map[string][]Lease{},
	}
}

func (g *grantor) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *grantor) Acquire(ctx context.Context, req AcquireRequest) ([]Lease, error) {
	g.mu.Lock()
	g.asked, g.askedAt = append(g.asked, req), append(g.askedAt, time.Now())
	latency, hang := g.latency, g.hang
	g.mu.Unlock()
	if g.deaf != nil {
		<-g.deaf
		return nil, errDown
	}
	if hang {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := sleep.For(ctx, latency); err != nil {
		return nil, err
	}
	leases, delay, err := g.answer(req)
	start := time.Now()
	if err := sleep.For(ctx, delay); err != nil {
		time.Sleep(delay - time.Since(start))
		return nil, err
	}
	return leases, err
}

func (g *grantor) answer(req AcquireRequest) (leases []Lease, delay time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down != nil {
		return nil, 0, g.down
	}
	if g.most > 0 && req.Throughput > g.most {
		return nil, 0, errMuch
	}
	leases = g.grant(req)
	if g.lose > 0 {
		g.lose--
		return nil, 0, errLost
	}
	delay, g.delay = g.delay, 0
	return leases, delay, nil
}

// grant takes the next free ids, or repeats its answer.
func (g *grantor) grant(req AcquireRequest) []Lease {
	now := g.now().UnixMilli()
	if leases, ok := g.byKey[req.RequestKey]; ok && leases[0].Expired > now {
		return leases
	}
	size := 1 << g.layout.SequenceBits
	var leases []Lease
	for range (max(req.Throughput, 1) + size - 1) / size {
		leases = append(leases, g.take(now))
	}
	g.byKey[req.RequestKey] = leases
	return leases
}

func (g *grantor) take(now int64) Lease {
	b := g.blocks[g.next]
	for b != nil && !b.free && b.lease.Expired > now {
		g.next = (g.next + 1) % (1 << (g.layout.MachineBits - 1))
		b = g.blocks[g.next]
	}
	if b == nil {
		b = &blockState{}
		g.blocks[g.next] = b
	}
	created := max(now, b.fence)
	b.lease = Lease{
		ID: g.next, Created: created, Expired: max(created+g.duration.Milliseconds(), b.fallback),
		Secret: fmt.Sprint("secret", g.next), CustomEpoch: g.layout.CustomEpoch,
		ReserveBits: g.layout.ReserveBits, TimestampBits: g.layout.TimestampBits, MachineBits: g.layout.MachineBits, SequenceBits: g.layout.SequenceBits,
	}
	b.fence, b.fallback, b.free = b.lease.Expired, 2*b.lease.Expired-created, false
	g.next = (g.next + 1) % (1 << (g.layout.MachineBits - 1))
	lease := b.lease
	if g.mutate != nil {
		g.mutate(&lease)
	}
	return lease
}

func (g *grantor) Release(ctx context.Context, req ReleaseRequest) error {
	if err := sleep.For(ctx, g.latency); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down != nil {
		return g.down
	}
	if d := g.now().Sub(time.UnixMilli(req.Timestamp)).Abs(); d > 30*time.Second {
		return fmt.Errorf("the release was signed %v before or after now", d)
	}
	b := g.blocks[req.ID]
	if b == nil || b.lease.Created != req.Created || !req.Verify(b.lease.Secret) {
		return fmt.Errorf("no such lease: %+v", req)
	}
	g.released = append(g.released, req)
	b.free, b.fence, b.fallback = true, req.LastTs+1, 0
	return nil
}

func (g *grantor) requests() []AcquireRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)
}

func (g *grantor) releases() []ReleaseRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.released)
}

// managed returns a client of g that is shut down at the end of the test or
// bubble, quiet by default.
func managed(t *testing.T, g *grantor, opts Options) (c *Client, end func()) {
	t.Helper()
	opts.Provider = g
	if opts.Now == nil {
		opts.Now = g.now
	}
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	c = Must(NewClient(opts))
	return c, func() {
		if err := c.Shutdown(context.Background()); err != nil && !errors.Is(err, errDown) {
			t.Errorf("Shutdown: %v", err)
		}
	}
}
