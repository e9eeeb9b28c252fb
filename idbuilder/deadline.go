// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at a time. It makes a timer only when Done is called,
// because few requests wait.
type deadline struct {
	parent context.Context
	at     time.Time

	mu     sync.Mutex
	timed  context.Context // of parent; nil until Done was called
	cancel context.CancelFunc
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if earlier, ok := d.parent.Deadline(); ok && earlier.Before(d.at) {
		return earlier, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.timerContext().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if err := d.parent.Err(); err != nil {
		return err
	}
	if !time.Now().Before(d.at) {
		return context.DeadlineExceeded
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		return nil
	}
	return d.timed.Err()
}

// Value implements context.Context.
func (d *deadline) Value(key any) any { return d.parent.Value(key) }

func (d *deadline) timerContext() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.parent, d.at)
	}
	return d.timed
}

// stopTimer releases the timer, if there is one.
func (d *deadline) stopTimer() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}
