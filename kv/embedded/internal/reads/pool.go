// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"slices"
	"sync"
)

// MostReaders is how many goroutines read at a time. A goroutine that waits for
// the disk occupies a thread of the operating system, and a program may begin any
// number of reads.
const MostReaders = 256

// Task is work that may wait for the disk.
type Task interface{ Run() }

// Pool runs tasks in goroutines, at most [MostReaders] at a time; further tasks
// wait in a queue. The zero value is ready to use.
//
// Each goroutine that takes a task wakes the next one if more are queued. So tasks that
// begin together and do not wait need no goroutine each: the first ones run them all,
// and only where one waits for the disk the next one goes on.
type Pool struct {
	// Keep is how many goroutines without a task wait for one, until [Pool.Wait]: the stack
	// of a new goroutine would have to grow again. It is set before the first task.
	Keep int

	mu      sync.Mutex
	queue   []Task          // from first on
	first   int             // those before it were taken
	running int             // goroutines that have a task or are woken
	woken   bool            // one of them has not looked at the queue yet
	idle    []chan struct{} // of the goroutines that have no task; the last one to wait is the first to be woken
	ended   *sync.Cond      // on mu; nil until a goroutine waits for running to become 0
}

// Start runs a task in a goroutine. It does not wait.
func (p *Pool) Start(t Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == cap(p.queue) && p.first > len(p.queue)/2 {
		p.queue, p.first = slices.Delete(p.queue, 0, p.first), 0
	}
	p.queue = append(p.queue, t)
	p.wakeNext()
}

// wakeNext wakes a goroutine for what is queued, unless one is woken already. p.mu is held.
func (p *Pool) wakeNext() {
	if p.woken || p.first == len(p.queue) || p.running == MostReaders {
		return
	}
	p.woken = true
	p.running++
	if last := len(p.idle) - 1; last >= 0 {
		p.idle[last] <- struct{}{}
		p.idle = p.idle[:last]
		return
	}
	go p.runTasks()
}

// runTasks runs what is queued, and then what comes while it is idle.
func (p *Pool) runTasks() {
	wake := make(chan struct{}, 1)
	for woken := true; woken; _, woken = <-wake {
		for t := p.next(true, wake); t != nil; t = p.next(false, wake) {
			t.Run()
		}
	}
}

// next takes the next task from the queue. If there is none it counts the calling
// goroutine out, enters it as idle if few are, and returns nil.
func (p *Pool) next(woken bool, wake chan struct{}) Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if woken {
		p.woken = false
	}
	if p.first < len(p.queue) {
		t := p.queue[p.first]
		p.queue[p.first] = nil
		p.first++
		p.wakeNext()
		return t
	}
	p.forgetQueue()
	p.running--
	if p.running == 0 && p.ended != nil {
		p.ended.Broadcast()
	}
	if len(p.idle) < p.Keep && p.ended == nil {
		p.idle = append(p.idle, wake)
	} else {
		close(wake)
	}
	return nil
}

// forgetQueue makes room in the queue, which has no task left, and keeps a short one.
func (p *Pool) forgetQueue() {
	if p.queue, p.first = p.queue[:0], 0; cap(p.queue) > MostReaders {
		p.queue = nil
	}
}

// Counts returns how many goroutines run tasks, and how many tasks are queued.
func (p *Pool) Counts() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, len(p.queue) - p.first
}

// Wait returns when no task runs or is queued. From then on no goroutine waits for
// tasks.
func (p *Pool) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = sync.NewCond(&p.mu)
	}
	for _, wake := range p.idle {
		close(wake)
	}
	p.idle = nil
	for p.running > 0 {
		p.ended.Wait()
	}
}
