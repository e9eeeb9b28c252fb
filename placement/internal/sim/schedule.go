// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
	"time"
)

// schedule is what is going to happen, in the order of time, then of planning.
type schedule struct {
	now     time.Duration // true time
	planned int
	queue   queue
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

// after plans an event.
func (s *schedule) after(d time.Duration, do func()) {
	s.planned++
	heap.Push(&s.queue, event{s.now + max(d, 0), s.planned, do})
}

// next has the next event happen that is due by a time. If there is none, it
// becomes that time, and next returns false.
func (s *schedule) next(by time.Duration) bool {
	if len(s.queue) == 0 || s.queue[0].at > by {
		s.now = max(s.now, by)
		return false
	}
	e := heap.Pop(&s.queue).(event)
	s.now = e.at
	e.do()
	return true
}

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
