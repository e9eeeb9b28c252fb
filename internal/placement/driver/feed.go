// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// feed passes events to a handler, one after the other, in the order in which they were
// added. Events that are added while the handler runs wait.
type feed[E any] struct {
	handle func(E) // nil: events are dropped
	limit  int
	log    *slog.Logger
	left   atomic.Int64 // events that are not handled yet

	mu         sync.Mutex // guards the fields below
	queue      []E
	delivering bool
	progress   chan struct{} // closed when events were handled; nil: no goroutine waits for that

	// Of the goroutine that delivers, and of another if the handler ends that one.
	batch []E // taken out of the queue
	next  int // of batch, to be handled
}

// chunk is the number of events after which goroutines that wait for progress are woken.
const chunk = 256

// add copies events into the queue, in the order of its calls. If it returns true, the
// caller must start deliverAll.
func (f *feed[E]) add(events []E) bool {
	if len(events) == 0 || f.handle == nil {
		return false
	}
	f.left.Add(int64(len(events)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, events...)
	start := !f.delivering
	f.delivering = true
	return start
}

// linger is how often a goroutine that has delivered all events yields before it ends, so
// that a stream of events does not start a goroutine for each.
const linger = 100

// deliverAll handles events until the queue stays empty for a while. A handler that ends the
// goroutine by runtime.Goexit, as testing's FailNow does, gets it replaced.
func (f *feed[E]) deliverAll(linger int) {
	ended := false
	defer func() {
		if !ended {
			go f.deliverAll(linger)
		}
	}()
	for f.deliverBatch() || f.awaitMore(linger) {
	}
	ended = true
}

// deliverBatch handles the events that were taken out of the queue, or takes out all that are
// there and handles these. It reports whether there were any.
func (f *feed[E]) deliverBatch() bool {
	if f.next == len(f.batch) {
		f.batch, f.next = f.takeAll(f.batch), 0
	}
	for f.next < len(f.batch) {
		f.next++
		f.callHandler(f.batch[f.next-1])
		if f.next%chunk == 0 {
			f.notifyProgress()
		}
	}
	return len(f.batch) > 0
}

// awaitMore waits for more events. It returns false if none came: the calling goroutine
// must return, because add starts another one.
func (f *feed[E]) awaitMore(linger int) bool {
	for i := 0; i < linger && f.left.Load() == 0; i++ {
		runtime.Gosched()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delivering = len(f.queue) > 0
	return f.delivering
}

// takeAll returns all waiting events. The queue reuses the memory of those before.
func (f *feed[E]) takeAll(done []E) []E {
	clear(done)
	if cap(done) > 1<<14 {
		done = nil
	}
	f.notifyProgress()
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.queue
	f.queue = done[:0]
	return events
}

// notifyProgress wakes goroutines that wait for the handler.
func (f *feed[E]) notifyProgress() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.progress != nil {
		close(f.progress)
		f.progress = nil
	}
}

// callHandler calls the handler and logs its panic, which must not end the program.
func (f *feed[E]) callHandler(e E) {
	defer f.left.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("placement: a handler of events panics", "panic", p, "event", e, "stack", string(debug.Stack()))
		}
	}()
	f.handle(e)
}

// isFull reports whether as many events wait as the limit allows.
func (f *feed[E]) isFull() bool { return f.left.Load() >= int64(f.limit) }

// watchProgress returns a channel that is closed when more events were handled; nil if
// none is left.
func (f *feed[E]) watchProgress() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.delivering {
		return nil
	}
	if f.progress == nil {
		f.progress = make(chan struct{})
	}
	return f.progress
}

// awaitBelow waits until fewer than n events are left.
func (f *feed[E]) awaitBelow(ctx context.Context, n int) error {
	for f.left.Load() >= int64(n) {
		next := f.watchProgress()
		if next == nil {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
