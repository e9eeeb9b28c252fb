// SPDX-License-Identifier: Apache-2.0

package embedded

import "sync"

// mostReaders is how many goroutines read at a time. A goroutine that waits for
// the disk occupies a thread of the operating system, and a program may begin any
// number of reads.
const mostReaders = 256

// task is work that may wait for the disk.
type task interface{ run() }

// readers runs tasks in goroutines, at most mostReaders at a time; further tasks
// wait in a queue. A goroutine ends when the queue is empty. The zero value is
// ready to use.
type readers struct {
	mu      sync.Mutex
	queue   []task
	running int
	idle    *sync.Cond // on mu; nil until a goroutine waits for running to become 0
}

// start runs a task in a goroutine. It does not wait.
func (r *readers) start(t task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == mostReaders {
		r.queue = append(r.queue, t)
		return
	}
	r.running++
	go r.work(t)
}

// work runs t, and then what is queued.
func (r *readers) work(t task) {
	for t != nil {
		t.run()
		t = r.next()
	}
}

// next takes the next task from the queue. If there is none it counts the calling
// goroutine out and returns nil.
func (r *readers) next() task {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 {
		t := r.queue[0]
		r.queue[0] = nil
		r.queue = r.queue[1:]
		return t
	}
	r.queue = nil
	r.running--
	if r.running == 0 && r.idle != nil {
		r.idle.Broadcast()
	}
	return nil
}

// wait returns when no task runs or is queued.
func (r *readers) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle == nil {
		r.idle = sync.NewCond(&r.mu)
	}
	for r.running > 0 {
		r.idle.Wait()
	}
}
