// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
)

// endWithin ends the activation and returns once none of its code runs any more. It returns
// a *[driver.BusyError] if the activation was used after idleSince, and an error if its code
// still runs after the timeout. In that case its context has ended, and waiting calls go elsewhere.
func (a *Activation) endWithin(ctx context.Context, cause placement.Cause, idleSince time.Time) error {
	e, err := a.beginEnd(cause, idleSince)
	if err != nil {
		return err
	}
	if cause == placement.CauseLost {
		a.abortContexts(placement.ErrActivationLost)
	}
	if e.await(ctx, a.kind.session.options.DeactivateTimeout) {
		return e.err
	}
	a.abortContexts(fmt.Errorf("%w: it did not end in time", ErrDeactivated))
	if e.await(ctx, endGrace) {
		return e.err
	}
	a.finishEnd(cause)
	stuck := &a.kind.session.stuck
	stuck.Add(1)
	go func() { <-e.done; stuck.Add(-1) }()
	return fmt.Errorf("host: %s still runs something %v after it was told to end", a.Key(), a.kind.session.options.DeactivateTimeout)
}

// beginEnd closes the mailbox and appends the end message, unless that was done before.
func (a *Activation) beginEnd(cause placement.Cause, idleSince time.Time) (*endMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	used, busy := a.usedSince(idleSince)
	if busy && cause == placement.CauseIdle && a.phase <= active {
		return nil, &driver.BusyError{UsedAt: used}
	}
	return a.closeMailbox(cause), nil
}

// closeMailbox closes the mailbox and returns its last message. The caller holds the mutex.
func (a *Activation) closeMailbox(cause placement.Cause) *endMessage {
	m := a.ensureExtension()
	if m.ending == nil {
		m.ending = &endMessage{cause: cause, done: make(chan struct{})}
		m.ending.work = m.ending
		a.phase = draining
		a.pushMessage(&m.ending.message)
	}
	return m.ending
}

// endSoon closes the mailbox and sends waiting calls to the next activation.
func (a *Activation) endSoon() {
	a.mu.Lock()
	a.closeMailbox(placement.CauseFailed)
	waiting := a.takeCalls()
	a.mu.Unlock()
	refuseAll(waiting)
}

// abortContexts ends the contexts and sends waiting calls to the next activation.
func (a *Activation) abortContexts(cause error) {
	a.mu.Lock()
	m := a.ensureExtension()
	if m.cause == nil {
		m.cause = cause
		if m.cancel != nil {
			m.cancel(cause)
		}
		if m.stop != nil {
			m.stop(cause)
		}
	}
	waiting := a.takeCalls()
	a.mu.Unlock()
	refuseAll(waiting)
}

// takeCalls takes the calls out of the mailbox. The caller holds the mutex.
func (a *Activation) takeCalls() (calls []*call) {
	more := a.ensureExtension()
	m := more.head
	more.head, more.tail = nil, nil
	for m != nil {
		next := m.next
		m.next = nil
		if c, ok := m.work.(*call); ok {
			calls = append(calls, c)
			more.calls--
		} else {
			a.pushMessage(m)
		}
		m = next
	}
	return calls
}

// callDeactivate calls Deactivate, if there is one.
func (a *Activation) callDeactivate() error {
	d, ok := a.state.(interface {
		Deactivate(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	ctx := context.WithValue(context.Background(), chainKey{}, []placement.Key{a.Key()})
	ctx, cancel := context.WithTimeout(ctx, a.kind.session.options.DeactivateTimeout)
	defer cancel()
	err := a.catchPanic("Deactivate", func() error { return d.Deactivate(ctx) })
	if err != nil {
		a.kind.session.options.Logger.Warn("host: an activation's Deactivate failed", "key", a.Key().String(), "epoch", a.epoch, "err", err)
	}
	return err
}

// finishEnd stops the timers of the activation and removes it from the table.
func (a *Activation) finishEnd(cause placement.Cause) {
	why := ErrDeactivated
	if cause == placement.CauseLost {
		why = placement.ErrActivationLost
	}
	a.abortContexts(why)
	a.mu.Lock()
	a.phase = gone
	for t := range a.more.timers {
		t.stop()
	}
	a.mu.Unlock()
	a.kind.remove(a)
}

// endGrace is how long code that runs may take to return after its context has ended.
const endGrace = time.Second

func refuseAll(calls []*call) {
	for _, c := range calls {
		c.refuse(errDraining)
	}
}

// endMessage is the last message in the mailbox of an activation.
type endMessage struct {
	message
	cause placement.Cause
	done  chan struct{} // closed when it has run
	err   error         // of Deactivate
}

// await waits until the end has run, ctx has ended or a time has passed.
func (e *endMessage) await(ctx context.Context, most time.Duration) bool {
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-e.done:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	return false
}

// run implements [work].
func (e *endMessage) run(a *Activation) {
	defer close(e.done)
	defer a.finishEnd(e.cause)
	e.err = a.callDeactivate()
}

// refuse implements [work].
func (e *endMessage) refuse(error) {}
