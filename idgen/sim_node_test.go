// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// node is a machine with one process, which makes IDs.
type node struct {
	w    *world
	who  string
	rng  *rand.Rand
	now  clockwork
	link *link
	opts idgen.Options
	m    maker
	ids  []idgen.ID
}

func (w *world) newNode(stream uint64) *node {
	n := &node{w: w, rng: rand.New(rand.NewPCG(w.seed, stream)), who: fmt.Sprint("node ", stream)}
	n.now.w = w
	n.now.off.Store(int64(between(n.rng, -2*time.Second, 2*time.Second)))
	n.start()
	return n
}

// start starts the process anew.
func (n *node) start() {
	n.link = &link{w: n.w, rng: rand.New(rand.NewPCG(n.rng.Uint64(), 1)), now: &n.now}
	n.opts = idgen.Options{
		Provider: n.link, Layout: n.w.layout, Logger: discard, DisableFallback: n.rng.IntN(5) == 0,
		MaxThroughput: 1 + n.rng.IntN(n.w.most), Now: n.now.read,
		AcquireRetryInterval: 200 * time.Millisecond, AcquireRetryMaxInterval: 5 * time.Second,
	}.WithMonotonic(n.now.monotonic)
	if n.rng.IntN(4) == 0 {
		n.opts.MaxBackward = new(time.Duration(n.rng.IntN(2)) - 1)
	}
	n.ids = nil
	n.now.client.Store(nil)
	if n.w.literal {
		n.m = newLiteralClient(n.link, n.opts)
		return
	}
	c := idgen.Must(idgen.NewClient(n.opts))
	n.now.client.Store(c)
	n.m = c
}

// end ends the process, abruptly or not.
func (n *node) end(graceful bool) {
	n.link.dead.Store(!graceful)
	n.now.stall.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = n.m.Shutdown(ctx)
	n.w.keep(n.who, n.ids, n.m)
}

// live is what happens on the machine.
func (n *node) live() {
	for time.Since(n.w.begin) < n.w.until {
		n.exist()
	}
	n.end(true)
}

func (n *node) exist() {
	time.Sleep(time.Duration(n.rng.ExpFloat64() * float64(30*time.Millisecond)))
	switch p := n.rng.IntN(10_000); {
	case p < 25:
		n.now.step(between(n.rng, -3*time.Second, 3*time.Second))
	case p < 30:
		n.now.step(between(n.rng, -time.Minute, time.Minute))
	case p < 32:
		n.farFuture()
	case p < 40:
		n.now.sleep(between(n.rng, time.Second, 3*simLease))
	case p < 80:
		n.now.stall.Store(int64(between(n.rng, time.Millisecond, 2*simLease)))
	case p < 95:
		n.end(p%2 == 0)
		time.Sleep(between(n.rng, 0, time.Second))
		n.start()
	case p < 99 && !n.w.calm:
		n.copy(p%2 == 0)
	case p < 115:
		n.now.correct(n.rng)
	default:
		n.burst()
	}
}

// burst makes some IDs, without waiting for anything.
func (n *node) burst() int {
	batch := make([]idgen.ID, 1+n.rng.IntN(1+n.rng.IntN(2*n.opts.MaxThroughput)))
	made, _ := n.m.NextN(impatient, batch)
	n.ids = append(n.ids, batch[:made]...)
	return made
}

var impatient = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// farFuture sets the clock to about 2030 and back.
func (n *node) farFuture() {
	const years = 3 * 365 * 24 * time.Hour
	n.now.step(years)
	for end := time.Now().Add(between(n.rng, 0, 9*time.Second)); time.Now().Before(end); {
		n.burst()
		time.Sleep(20 * time.Millisecond)
	}
	n.now.step(-years)
}

// copy makes a copy of the machine. It begins at once and is told, or begins
// much later than the moment it was copied at and notices by its clock. It lives
// for a while at the same time as the original.
//
// A client that is not told can notice only a clock that is more than five
// seconds ahead of the one that the last ID was made by, and only in another
// millisecond.
func (n *node) copy(told bool) {
	if !told && n.burst() == 0 {
		return
	}
	c := n.m.(*idgen.Client)
	o := &node{w: n.w, rng: rand.New(rand.NewPCG(n.rng.Uint64(), 2)), opts: n.opts, who: fmt.Sprintf("copy of %s after %v, told: %v", n.who, time.Since(n.w.begin), told)}
	o.now.w = n.w
	o.now.off.Store(n.now.off.Load())
	o.now.slept.Store(n.now.slept.Load())
	o.link = &link{w: n.w, rng: rand.New(rand.NewPCG(n.rng.Uint64(), 3)), now: &o.now}
	o.opts.Provider, o.opts.Now = o.link, o.now.read
	o.opts = o.opts.WithMonotonic(o.now.monotonic)
	thaw := c.Snapshot(o.opts)
	n.w.wg.Go(func() {
		if !told {
			time.Sleep(time.Millisecond) // the one under way goes on by the monotonic clock
			pause := between(o.rng, 5010*time.Millisecond, time.Duration(8+o.rng.IntN(2)*50)*time.Second)
			time.Sleep(pause)
			o.now.slept.Add(int64(pause))
		}
		c := thaw()
		if told {
			c.AfterRestore()
		}
		o.m = c
		o.now.client.Store(c)
		for end := time.Now().Add(between(o.rng, time.Second, 20*time.Second)); time.Now().Before(end); {
			time.Sleep(time.Duration(o.rng.ExpFloat64() * float64(30*time.Millisecond)))
			o.burst()
		}
		o.end(o.rng.IntN(2) == 0)
	})
}

// clockwork is the clock of a machine.
type clockwork struct {
	w      *world
	off    atomic.Int64 // of the wall clock
	slept  atomic.Int64 // for how long the monotonic clock stood still
	stall  atomic.Int64 // how long the next reader is held up
	client atomic.Pointer[idgen.Client]
}

func (k *clockwork) read() time.Time {
	t := k.w.right().Add(time.Duration(k.off.Load()))
	if k.stall.Load() != 0 && (k.w.literal || k.client.Load() != nil && k.client.Load().Undisturbed()) {
		time.Sleep(time.Duration(k.stall.Swap(0)))
	}
	return t
}

func (k *clockwork) monotonic() time.Duration {
	return time.Since(k.w.begin) - time.Duration(k.slept.Load())
}

func (k *clockwork) step(d time.Duration) { k.off.Add(int64(d)) }

// correct is what a time server does.
func (k *clockwork) correct(rng *rand.Rand) {
	k.off.Store(int64(between(rng, -time.Second, time.Second)))
}

// sleep is what happens to a machine that is closed, or paused by its host.
func (k *clockwork) sleep(d time.Duration) {
	time.Sleep(d)
	k.slept.Add(int64(d))
}

// link is the way from a machine to the service.
type link struct {
	w    *world
	now  *clockwork
	dead atomic.Bool // the process ends without a word

	mu  sync.Mutex
	rng *rand.Rand
}

var (
	errUnreachable = errors.New("unreachable")
	errDead        = errors.New("the process has crashed")
)

func (l *link) roll(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rng.IntN(n)
}

// pass takes as long as a message, and tells whether it arrives.
func (l *link) pass(ctx context.Context) error {
	latency := time.Duration(1+l.roll(100)) * time.Millisecond
	p := l.roll(100)
	if p < 3 {
		latency = time.Duration(l.roll(8000)) * time.Millisecond
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	if err := l.reachable(ctx, p); err != nil {
		return err
	}
	select {
	case <-timer.C:
		return l.reachable(ctx, p)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) reachable(ctx context.Context, p int) error {
	switch out := time.Since(l.w.begin) < time.Duration(l.w.outage.Load()); {
	case l.dead.Load():
		return errDead
	case p > 94, out && p < 50:
		return errUnreachable
	case out: // no answer comes
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (l *link) service() idgen.LeaseProvider {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.service
}

func (l *link) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	service := l.service()
	if s, ok := service.(*literalServer); ok {
		service = literalRedis{s, l.now}
	}
	leases, err := service.Acquire(context.Background(), req)
	if lost := l.pass(ctx); lost != nil {
		return nil, lost
	}
	return leases, err
}

func (l *link) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	err := l.service().Release(context.Background(), req)
	if l.roll(10) == 0 { // it arrives once more
		later := time.Duration(l.roll(20_000)) * time.Millisecond
		l.w.wg.Go(func() {
			time.Sleep(later)
			_ = l.service().Release(context.Background(), req)
		})
	}
	if lost := l.pass(ctx); lost != nil {
		return lost
	}
	return err
}
