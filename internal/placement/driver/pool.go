// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// pool executes commands in goroutines, in their order, some at once. A command that does
// not return in time loses its place to the next one.
type pool struct {
	driver *Driver

	mu      sync.Mutex // guards the fields below
	queue   []core.Command
	running int       // commands that have a place
	hung    int       // commands that have lost their place and still run
	spread  time.Time // until then claims wait for a random time before they are queued
}

// spreadClaims makes claims wait for a random time, for a while from now on.
func (p *pool) spreadClaims(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spread = time.Now().Add(d)
}

func (p *pool) add(commands []core.Command) {
	if len(commands) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range commands {
		if wait := p.claimWait(c); wait > 0 {
			time.AfterFunc(wait, func() { p.enqueue(c) })
			continue
		}
		p.queue = append(p.queue, c)
	}
	p.startNext()
}

// claimWait returns how long a command waits before it is queued. The caller holds p.mu.
func (p *pool) claimWait(c core.Command) time.Duration {
	if _, claims := c.(core.TryAcquire); !claims || p.spread.IsZero() {
		return 0
	}
	left := time.Until(p.spread)
	if left <= 0 {
		p.spread = time.Time{}
		return 0
	}
	return rand.N(left) + 1
}

// enqueue queues a command that has waited.
func (p *pool) enqueue(c core.Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, c)
	p.startNext()
}

// startNext starts commands while there are places. The caller holds p.mu.
func (p *pool) startNext() {
	for len(p.queue) > 0 && p.running < p.driver.options.Concurrency {
		c := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.running++
		go p.runCommand(c)
	}
}

// releasePlace counts the end of a command, which may have lost its place before.
func (p *pool) releasePlace(hung bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if hung {
		p.hung--
		return
	}
	p.running--
	p.startNext()
}

// markHung gives the place of a command that has not returned in time to the next one.
func (p *pool) markHung() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.hung++
	p.startNext()
}

func (p *pool) overloadError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hung < p.driver.options.MaxHung {
		return nil
	}
	return fmt.Errorf("%w: %d commands have not returned after %v", placement.ErrOverloaded, p.hung, p.driver.options.CommandTimeout)
}

// runCommand executes a command that has a place.
func (p *pool) runCommand(c core.Command) {
	d := p.driver
	if _, claims := c.(core.TryAcquire); claims {
		if err := p.overloadError(); err != nil {
			p.releasePlace(false)
			d.handleResult(failedResult(c, err))
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.options.CommandTimeout)
	defer cancel()
	var decided atomic.Bool // whether it has returned in time
	stop := context.AfterFunc(ctx, func() {
		if decided.CompareAndSwap(false, true) {
			p.expireCommand(c)
		}
	})
	finish := func(r core.CommandResult) {
		inTime := decided.CompareAndSwap(false, true)
		stop()
		p.releasePlace(!inTime)
		d.handleResult(r)
	}
	finish(d.executeCommand(ctx, c, finish))
}

// expireCommand gives the coordinator a failed result for a command that may still run.
func (p *pool) expireCommand(c core.Command) {
	p.markHung()
	err := &HungError{Command: commandName(c), After: p.driver.options.CommandTimeout}
	_, key := c.Correlation()
	p.driver.options.Logger.Warn("placement: a command does not return", "command", err.Command, "key", key, "after", err.After)
	p.driver.handleResult(failedResult(c, err))
}

// PanicError says that a home or an executor has panicked, or called
// runtime.Goexit. The operation may have taken effect.
type PanicError struct {
	Value any // of the panic; nil: runtime.Goexit was called
	Stack []byte
}

// Error implements error. It has the stack in it.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("driver: the command called runtime.Goexit\n%s", e.Stack)
	}
	return fmt.Sprintf("driver: the command panics: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Retryable returns false, even if the panic's value is a retryable error: a resolve must not
// cause the panic again at once.
func (e *PanicError) Retryable() bool { return false }

// HungError says that a home or an executor has not returned in time. The operation
// may have taken effect, or take effect later. It is a context.DeadlineExceeded.
type HungError struct {
	Command string // the method that was called
	After   time.Duration
}

// Error implements error.
func (e *HungError) Error() string {
	return fmt.Sprintf("driver: %s has not returned after %v", e.Command, e.After)
}

// Unwrap returns context.DeadlineExceeded.
func (e *HungError) Unwrap() error { return context.DeadlineExceeded }

// Retryable returns true: the next call may return.
func (e *HungError) Retryable() bool { return true }
