// SPDX-License-Identifier: Apache-2.0

package reads

import "sync"

// MostReaders is how many goroutines read at a time. A goroutine that waits for
// the disk occupies a thread of the operating system, and a program may begin any
// number of reads.
const MostReaders = 256

// Task is work that may wait for the disk.
type Task interface{ Run() }

// Pool runs tasks in goroutines, at most [MostReaders] at a time; further tasks
// wait in a queue. The zero value is ready to use.
type Pool struct {
	// Keep is how many goroutines without a task wait for one, until [Pool.Wait]: the stack
	// of a new goroutine would have to grow again. It is set before the first task.
	Keep int

	mu      sync.Mutex
	queue   []Task
	running int         // goroutines that have a task
	idle    []chan Task // of the goroutines that have none; the last one to wait is the first to get a task
	ended   *sync.Cond  // on mu; nil until a goroutine waits for running to become 0
}

// Start runs a task in a goroutine. It does not wait.
func (p *Pool) Start(t Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == MostReaders {
		p.queue = append(p.queue, t)
		return
	}
	p.running++
	if last := len(p.idle) - 1; last >= 0 {
		p.idle[last] <- t
		p.idle = p.idle[:last]
		return
	}
	go p.runTasks(t)
}

// runTasks runs t, then what is queued, and then what comes while it is idle.
func (p *Pool) runTasks(t Task) {
	more := make(chan Task, 1)
	for t != nil {
		t.Run()
		if t = p.next(more); t == nil {
			t = <-more
		}
	}
}

// next takes the next task from the queue. If there is none it counts the calling
// goroutine out, enters it as idle if few are, and returns nil.
func (p *Pool) next(more chan Task) Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		t := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		return t
	}
	p.queue = nil
	p.running--
	if p.running == 0 && p.ended != nil {
		p.ended.Broadcast()
	}
	if len(p.idle) < p.Keep && p.ended == nil {
		p.idle = append(p.idle, more)
	} else {
		close(more)
	}
	return nil
}

// Counts returns how many goroutines run tasks, and how many tasks are queued.
func (p *Pool) Counts() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, len(p.queue)
}

// Wait returns when no task runs or is queued. From then on no goroutine waits for
// tasks.
func (p *Pool) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = sync.NewCond(&p.mu)
	}
	for _, more := range p.idle {
		close(more)
	}
	p.idle = nil
	for p.running > 0 {
		p.ended.Wait()
	}
}
