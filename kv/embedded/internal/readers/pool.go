// SPDX-License-Identifier: Apache-2.0

package readers

import "sync"

// MostReaders is how many goroutines read at a time. A goroutine that waits for
// the disk occupies a thread of the operating system, and a program may begin any
// number of reads.
const MostReaders = 256

// Task is work that may wait for the disk.
type Task interface{ Run() }

// Pool runs tasks in goroutines, at most [MostReaders] at a time; further tasks
// wait in a queue. A goroutine ends when the queue is empty. The zero value is
// ready to use.
type Pool struct {
	mu      sync.Mutex
	queue   []Task
	running int
	idle    *sync.Cond // on mu; nil until a goroutine waits for running to become 0
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
	go p.runTasks(t)
}

// runTasks runs t, and then what is queued.
func (p *Pool) runTasks(t Task) {
	for t != nil {
		t.Run()
		t = p.next()
	}
}

// next takes the next task from the queue. If there is none it counts the calling
// goroutine out and returns nil.
func (p *Pool) next() Task {
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
	if p.running == 0 && p.idle != nil {
		p.idle.Broadcast()
	}
	return nil
}

// Counts returns how many goroutines run tasks, and how many tasks are queued.
func (p *Pool) Counts() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, len(p.queue)
}

// Wait returns when no task runs or is queued.
func (p *Pool) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = sync.NewCond(&p.mu)
	}
	for p.running > 0 {
		p.idle.Wait()
	}
}
