// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"fmt"
	"iter"
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

// Sequence returns the sequence of a name. From now on spec holds for all its callers. A
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

// All returns the sequences in memory, in no order, for metrics.
func (p *Pool) All() iter.Seq2[string, State] {
	return func(yield func(string, State) bool) {
		for _, s := range p.list() {
			if !yield(s.name, s.State()) {
				return
			}
		}
	}
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
