// SPDX-License-Identifier: Apache-2.0

package sequence

import "sync"

// queue holds the sequences that want a range. Options.Concurrency goroutines at
// most reserve them; there is none while there is nothing to do.
type queue struct {
	mu         sync.Mutex
	urgent     []*Sequence // requests wait for these
	background []*Sequence
	running    int
	closed     bool
	idle       sync.WaitGroup // the goroutines
}

// place is where in the queue a sequence is. It may be in both lists, and then
// leaves with the first that comes to it.
type place uint8

const (
	notQueued place = iota
	queuedBackground
	queuedUrgent
)

// enqueue has ranges of a sequence reserved.
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
		go p.work()
	}
}

// hurry moves a sequence ahead of those that no request waits for.
func (p *Pool) hurry(s *Sequence) {
	q := &p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.place == queuedBackground {
		q.push(s, true)
	}
}

func (q *queue) push(s *Sequence, urgent bool) {
	if urgent {
		s.place, q.urgent = queuedUrgent, append(q.urgent, s)
	} else {
		s.place, q.background = queuedBackground, append(q.background, s)
	}
}

// work reserves ranges until none is wanted.
func (p *Pool) work() {
	defer p.queue.idle.Done()
	for s := p.queue.next(); s != nil; s = p.queue.next() {
		p.refill(s)
	}
}

// next returns the next sequence, or nil: then the goroutine ends.
func (q *queue) next() *Sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, list := range []*[]*Sequence{&q.urgent, &q.background} {
		for len(*list) > 0 {
			s := (*list)[0]
			(*list)[0] = nil
			*list = (*list)[1:]
			if s.place != notQueued {
				s.place = notQueued
				return s
			}
		}
		*list = nil
	}
	q.running--
	return nil
}
