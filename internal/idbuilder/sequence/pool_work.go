// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

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
