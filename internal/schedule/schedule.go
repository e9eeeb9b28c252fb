// SPDX-License-Identifier: Apache-2.0

// Package schedule has the events of a simulation in virtual time. Events happen in
// the order of their times; events of one time happen in the order in which they
// were planned. So a simulation is repeatable.
package schedule

import (
	"container/heap"
	"time"
)

// Schedule has the events that will happen. The zero value is empty, at time 0. It
// is for one goroutine.
type Schedule struct {
	now     time.Duration
	planned int
	queue   queue
}

// Now returns the present time.
func (s *Schedule) Now() time.Duration { return s.now }

// After plans an event: do is called d after now, or at now if d is negative.
func (s *Schedule) After(d time.Duration, do func()) {
	s.planned++
	heap.Push(&s.queue, event{s.now + max(d, 0), s.planned, do})
}

// Next moves the time to the next event that is due by a time, and calls it. If
// there is none, it moves the time to by, and returns false.
func (s *Schedule) Next(by time.Duration) bool {
	if len(s.queue) == 0 || s.queue[0].at > by {
		s.now = max(s.now, by)
		return false
	}
	e := heap.Pop(&s.queue).(event)
	s.now = e.at
	e.do()
	return true
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

// queue is a heap of events.
type queue []event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}
