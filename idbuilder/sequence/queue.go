// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"sync"
)

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

// close waits until no reservation is under way, and lets none begin.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	done := make(chan struct{})
	go func() { q.idle.Wait(); close(done) }()
	return wait(ctx, done)
}
