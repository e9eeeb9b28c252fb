// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Pool serves numbers of sequences from ranges that it reserves in a store. It is
// safe for concurrent use. Make one with [New].
type Pool struct {
	store  store.Store
	o      Options
	start  time.Time
	ctx    context.Context // of reservations; ends with Close
	cancel context.CancelFunc
	queue  queue
	counts counts
	swept  chan struct{} // closed when the evictor has ended

	mu     sync.RWMutex
	all    map[string]*Sequence
	closed bool
}

// New returns a pool over a store. [Pool.Close] ends it; it does not close the
// store.
func New(s store.Store, o Options) (*Pool, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	p := &Pool{store: s, o: o, start: time.Now(), all: map[string]*Sequence{}, swept: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.evictIdle()
	return p, nil
}

// now returns the monotonic time.
func (p *Pool) now() time.Duration { return time.Since(p.start) }

// Sequence returns the sequence of a name. Spec then holds for all its callers. A
// changed Step or Bound applies to the numbers in memory, too. A changed Start or Epoch
// means that the sequence may have been set in the store: it drops the numbers in memory
// like [Pool.Drop]. Sequence returns [ErrDirection] if the sequence is in memory with the
// other direction.
//
// The call reads no store. It is cheap, but not as cheap as keeping the Sequence.
func (p *Pool) Sequence(name string, spec Spec) (*Sequence, error) {
	p.mu.RLock()
	s := p.all[name]
	p.mu.RUnlock()
	if s != nil && s.hasSpec(spec) {
		return s, nil
	}
	return p.open(name, spec)
}

func (p *Pool) open(name string, spec Spec) (*Sequence, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if s := p.all[name]; s != nil {
		if ok, err := s.changeSpec(spec); err != nil {
			return nil, err
		} else if ok {
			return s, nil
		}
	}
	if err := store.CheckName(name); err != nil {
		return nil, err
	}
	s := &Sequence{pool: p, name: name, spec: spec}
	s.publishSegment(span{from: spec.Start})
	p.all[name] = s
	return s, nil
}

func (p *Pool) list() []*Sequence {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]*Sequence, 0, len(p.all))
	for _, s := range p.all {
		list = append(list, s)
	}
	return list
}

// Drop drops the numbers of a sequence in memory, and forgets its position. Call it after
// the sequence was set to another value in the store and before the next call of Take: the
// pool then accepts numbers that come before those already given.
func (p *Pool) Drop(name string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if s := p.all[name]; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forgetState()
	}
}

// Metrics has the counts of a [Pool] since it was made.
type Metrics struct {
	Sequences    int    // in memory
	Waits        uint64 // calls of Take that waited for the store
	Reservations uint64 // asked of the store
	Failures     uint64 // of those, by an error other than exhaustion
	Dropped      uint64 // steps that were reserved and will not be given
	Returned     uint64 // steps that were reserved and given back to the store
	Evictions    uint64 // of idle sequences
}

type counts struct{ waits, reservations, failures, dropped, returned, evictions atomic.Uint64 }

// Metrics returns the present counts of the pool.
func (p *Pool) Metrics() Metrics {
	p.mu.RLock()
	n := len(p.all)
	p.mu.RUnlock()
	c := &p.counts
	return Metrics{
		Sequences: n, Waits: c.waits.Load(), Reservations: c.reservations.Load(),
		Failures: c.failures.Load(), Dropped: c.dropped.Load(), Returned: c.returned.Load(), Evictions: c.evictions.Load(),
	}
}

// enqueue queues a sequence for the reservation of ranges.
func (p *Pool) enqueue(s *Sequence, urgent bool) {
	q := &p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.push(s, urgent)
	if q.running < p.o.Concurrency {
		q.running++
		q.idle.Add(1)
		go p.runWorker()
	}
}

// moveAhead moves a sequence ahead of those that no request waits for.
func (p *Pool) moveAhead(s *Sequence) {
	q := &p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.place == queuedBackground {
		q.push(s, true)
	}
}

// runWorker reserves ranges until none is wanted.
func (p *Pool) runWorker() {
	defer p.queue.idle.Done()
	for s := p.queue.next(); s != nil; s = p.queue.next() {
		p.refill(s)
	}
}

// refill reserves ranges until there are enough or the store fails.
func (p *Pool) refill(s *Sequence) {
	for {
		plan, ok := s.planReservation()
		if !ok {
			return
		}
		r, err := p.reserve(s.name, plan.Reservation)
		if !s.acceptOutcome(plan, r, err) {
			return
		}
	}
}

func (p *Pool) reserve(name string, r store.Reservation) (store.Range, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.o.Timeout)
	defer cancel()
	p.counts.reservations.Add(1)
	return p.store.Reserve(ctx, name, r)
}

// evictIdle removes idle sequences until the pool is closed, each at the latest after one and
// a half times Options.Idle.
func (p *Pool) evictIdle() {
	defer close(p.swept)
	if p.o.Idle < 0 {
		return
	}
	ticker := time.NewTicker(max(p.o.Idle/2, 1))
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-ticker.C:
			p.evictUnused()
		}
	}
}

func (p *Pool) evictUnused() {
	now := p.now()
	var offers []offer
	for _, s := range p.list() {
		if s.isUnused(now) {
			offers = append(offers, p.evictSequence(s)...)
		}
	}
	p.giveBack(p.ctx, offers)
}

// evictSequence removes a sequence, unless it is in use, and returns the numbers of it that
// can be given back.
func (p *Pool) evictSequence(s *Sequence) []offer {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == active || len(s.waiters) > 0 {
		return nil
	}
	s.stopTimer()
	s.sealSegment()
	offers := s.makeOffers()
	s.forgetState()
	s.evicted, s.checked = true, false
	delete(p.all, s.name)
	p.counts.evictions.Add(1)
	return offers
}

// findRevived returns the sequence in memory with the name of an evicted one, or makes the
// evicted one live again.
func (p *Pool) findRevived(s *Sequence) (*Sequence, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	live := p.all[s.name]
	if live == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.evicted = false
		p.all[s.name] = s
		return s, nil
	}
	if (live.seg.Load().step < 0) != (s.seg.Load().step < 0) {
		return nil, ErrDirection
	}
	return live, nil
}

// giveBack gives numbers back to the store, until ctx ends.
func (p *Pool) giveBack(ctx context.Context, offers []offer) {
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	for range min(p.o.Concurrency, len(offers)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(offers)); i = next.Add(1) - 1 {
				p.giveOneBack(ctx, offers[i])
			}
		})
	}
}

func (p *Pool) giveOneBack(ctx context.Context, o offer) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	err := ctx.Err()
	if err == nil {
		err = o.giveBack(ctx, p.store)
	}
	if err == nil {
		p.counts.returned.Add(o.steps)
		return
	}
	p.counts.dropped.Add(o.steps)
	if !errors.Is(err, store.ErrConflict) {
		p.o.Log.Debug("the store takes no numbers back: they are lost", "sequence", o.name, "numbers", o.steps, "error", err)
	}
}

// offer has the unused numbers of the last reservation of a sequence. The store takes them back
// if there was no other reservation since: it compares the version. Then no pool has got later
// numbers, and this one has taken the numbers out of memory before. So a lost answer of the
// store means a gap at most. A store that was restored from a backup, or that lost its newest
// writes in a failover, can come to the same version again: so the value must be the same, too.
type offer struct {
	name  string
	value int64 // the number before them
	last  store.Sequence
	steps uint64
}

// giveBack gives the numbers back to the store, if the sequence has not changed.
func (o offer) giveBack(ctx context.Context, s store.Store) error {
	now, err := s.Sequence(ctx, o.name)
	if err != nil {
		return err
	}
	if now != o.last {
		return store.ErrConflict
	}
	return s.SetSequence(ctx, o.name, o.value, now.Version)
}

// Close ends the pool: calls of Take return [ErrClosed], even those that wait. It waits for
// running reservations, and gives the numbers in memory back to the store. If ctx ends
// before, it returns the error of ctx, and numbers are lost. It can be repeated.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for _, s := range p.list() {
		s.refuseCalls()
	}
	defer p.cancel()
	if err := p.queue.close(ctx); err != nil {
		return err
	}
	p.giveBack(ctx, p.sealAll())
	p.cancel()
	return wait(ctx, p.swept)
}

// sealAll returns all numbers in memory that can be given back, and drops the
// others.
func (p *Pool) sealAll() (offers []offer) {
	for _, s := range p.list() {
		s.mu.Lock()
		offers = append(offers, s.makeOffers()...)
		s.forgetState()
		s.mu.Unlock()
	}
	return offers
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
