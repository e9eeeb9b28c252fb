// SPDX-License-Identifier: Apache-2.0

// Package reads has what a transaction's reads share with the engine that serves them.
//
// A range read sets the limits of a batch ([Limits]) and the bound of its steps ([Budget]).
// The scan that serves it counts each step against the budget and gives each pair to the
// [Builder], until one of the two tells it to stop. A read of one key asks the row cache
// first, and carries a [Ticket] from there to the read of the disk. Reads that may wait for
// the disk run in a [Pool].
//
// The values of this package are for one goroutine, except [SizeHint] and [Pool].
package reads

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Ticket admits to the row cache the row that a reader reads after a miss. The zero value
// admits nothing.
type Ticket struct {
	Valid bool
	Hash  uint64 // of the key
	Epoch uint64 // of the cache's part, when the reader looked
	Seen  uint64 // how many clears of ranges the cache knew then
}

// Budget bounds the steps of a read. It ends a long read whose result is no longer
// wanted, and keeps one short that must be made at once. The zero value has no
// bound.
type Budget struct {
	Used    int          // steps so far
	Most    int          // steps after which the read fails with [ErrNotAtHand]; 0: no bound
	Abandon *atomic.Bool // set when the result is no longer wanted; nil: never
}

// StepsBetweenChecks is after how many steps a read looks at its budget.
const StepsBetweenChecks = 64

var (
	// ErrNotAtHand says that a read that was to be made at once needs the disk, or
	// many steps. A goroutine then makes the read.
	ErrNotAtHand = errors.New("embedded: the read needs the disk or many steps")

	// ErrAbandoned ends a read whose future the transaction has resolved already.
	ErrAbandoned = errors.New("embedded: the result of the read is no longer wanted")
)

// Step counts a step and returns why the read must not go on, or nil.
func (b *Budget) Step() error {
	if b.Used++; b.Used%StepsBetweenChecks != 0 {
		return nil
	}
	switch {
	case b.Abandon != nil && b.Abandon.Load():
		return ErrAbandoned
	case b.Most > 0 && b.Used >= b.Most:
		return ErrNotAtHand
	}
	return nil
}

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
