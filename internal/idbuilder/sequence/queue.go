// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"sync"
)

// queue has the sequences that need a range. At most Options.Concurrency goroutines reserve
// them; there is none while the queue is empty.
type queue struct {
	mu         sync.Mutex
	urgent     []*Sequence // requests wait for these
	background []*Sequence
	running    int
	closed     bool
	idle       sync.WaitGroup // the goroutines
}

// place is the place of a sequence in the queue. It may be in both lists; then the first
// that reaches it removes it from both.
type place uint8

const (
	notQueued place = iota
	queuedBackground
	queuedUrgent
)

func (q *queue) push(s *Sequence, urgent bool) {
	if urgent {
		s.place, q.urgent = queuedUrgent, append(q.urgent, s)
	} else {
		s.place, q.background = queuedBackground, append(q.background, s)
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

// close lets no reservation begin, and waits for the running ones.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	done := make(chan struct{})
	go func() { q.idle.Wait(); close(done) }()
	return wait(ctx, done)
}
