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
	idle := append([]chan Task{}, p.idle...)
	p.Wait()
	for _, more := range idle {
		if _, open := <-more; open || len(p.idle) > 0 {
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
