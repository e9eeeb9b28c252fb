// SPDX-License-Identifier: Apache-2.0

package reads

import "testing"

// step is a task that says that it has begun, and then waits.
type step struct{ begun, end chan struct{} }

func (s step) Run() {
	s.begun <- struct{}{}
	<-s.end
}

// TestPoolKeepsGoroutines runs many tasks at a time: only some of their goroutines
// remain, one of them runs the next task, and Wait ends them.
func TestPoolKeepsGoroutines(t *testing.T) {
	const kept = 16
	p := Pool{Keep: kept}
	s := step{make(chan struct{}), make(chan struct{})}
	for range 2 * kept {
		p.Start(s)
		<-s.begun
	}
	close(s.end)
	p.awaitNone()
	if len(p.idle) != kept {
		t.Errorf("%d goroutines are idle, want %d", len(p.idle), kept)
	}
	s.end = make(chan struct{})
	p.Start(s)
	<-s.begun
	if len(p.idle) != kept-1 {
		t.Errorf("%d goroutines are idle while one works, want %d", len(p.idle), kept-1)
	}
	close(s.end)
	p.awaitNone()
	idle := append([]chan struct{}{}, p.idle...)
	p.Wait()
	for _, wake := range idle {
		if _, open := <-wake; open || len(p.idle) > 0 {
			t.Fatal("a goroutine is idle after Wait")
		}
	}
}

// awaitNone returns when no task runs; goroutines may be idle.
func (p *Pool) awaitNone() {
	for running := 1; running > 0; {
		running, _ = p.Counts()
	}
}

// TestPoolWakesOne starts many tasks before the first goroutine has looked at the queue:
// no other goroutine is started, and the first one runs all of them.
func TestPoolWakesOne(t *testing.T) {
	const tasks = 1000
	p := Pool{running: 1, woken: true}
	s := step{make(chan struct{}, tasks), make(chan struct{})}
	close(s.end)
	for range tasks {
		p.Start(s)
	}
	if running, queued := p.Counts(); running != 1 || queued != tasks {
		t.Errorf("%d goroutines run, and %d tasks are queued; want 1 and %d", running, queued, tasks)
	}
	go p.runTasks()
	for range tasks {
		<-s.begun
	}
	p.Wait()
	if cap(p.queue) > MostReaders {
		t.Errorf("the empty queue has room for %d tasks", cap(p.queue))
	}
}

// TestPoolOverlaps starts more tasks than may run, each of which waits until as many as
// may have begun: tasks that wait keep no others from beginning.
func TestPoolOverlaps(t *testing.T) {
	var p Pool
	s := step{make(chan struct{}), make(chan struct{})}
	for range 3 * MostReaders {
		p.Start(s)
	}
	for range MostReaders {
		<-s.begun
	}
	if running, queued := p.Counts(); running != MostReaders || queued != 2*MostReaders {
		t.Errorf("%d tasks run and %d are queued, want %d and %d", running, queued, MostReaders, 2*MostReaders)
	}
	close(s.end)
	for range 2 * MostReaders {
		<-s.begun
	}
	p.Wait()
}

// TestPoolQueueStaysShort starts a task whenever one ends, while others are always queued.
func TestPoolQueueStaysShort(t *testing.T) {
	p := Pool{running: MostReaders}
	for range 10 {
		p.Start(step{})
	}
	for range 100_000 {
		if p.next(false, nil) == nil {
			t.Fatal("the queue has lost a task")
		}
		p.Start(step{})
	}
	if room := cap(p.queue); room > 100 {
		t.Errorf("a queue of 10 tasks has room for %d", room)
	}
}
