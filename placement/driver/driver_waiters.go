// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"container/list"

	"github.com/kazahana-db/kazahana/placement"
)

// addWaiter adds a resolve to the waiters of a request. The caller holds d.mu.
func (d *Driver) addWaiter(id placement.RequestID, done func(placement.Resolution, error)) *waiter {
	w := &waiter{request: id, done: done}
	if done == nil {
		w.answer = make(chan answer, 1)
		w.done = func(r placement.Resolution, err error) { w.answer <- answer{resolution: r, err: err} }
	}
	waiting := d.waiters[id]
	if waiting == nil {
		waiting = list.New()
		d.waiters[id] = waiting
	}
	w.place = waiting.PushBack(w)
	return w
}

// abandonWaiter removes a waiter whose context has ended.
func (d *Driver) abandonWaiter(w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.waiters[w.request]
	if waiting == nil {
		return // its answer is on the way
	}
	waiting.Remove(w.place)
	if waiting.Len() == 0 {
		delete(d.waiters, w.request)
	}
	d.core.Abandon(w.request)
}

// takeAnswers returns the answers for the waiters of a request, in the order in which they
// came. The caller holds d.mu.
func (d *Driver) takeAnswers(a placement.Answer) []answer {
	waiting := d.waiters[a.Request]
	if waiting == nil {
		return nil
	}
	delete(d.waiters, a.Request)
	answers := make([]answer, 0, waiting.Len())
	for e := waiting.Front(); e != nil; e = e.Next() {
		answers = append(answers, answer{done: e.Value.(*waiter).done, resolution: a.Resolution, err: a.Err})
	}
	return answers
}
