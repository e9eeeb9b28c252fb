// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/placement"
)

// message is an element of the mailbox of an activation.
type message struct {
	next *message
	work work
}

// work is what an activation does with a message: a [call], a [Timer] or an [endMessage].
type work interface {
	// run does the work. An activation runs one work at a time.
	run(a *Activation)
	// refuse says that the work will not run here.
	refuse(err error)
}

// The states of a call.
const (
	callQueued = iota
	callRunning
	callEnded // refused, or its caller has left
)

// call is a call of a method.
type call struct {
	message
	ctx     context.Context // of the caller
	method  *method
	chain   []placement.Key // the callers, and the activation itself
	payload []byte

	state   atomic.Int32
	outcome outcome
	done    chan struct{} // closed when there is an outcome
}

// outcome is the outcome of a call, in this process or another one.
type outcome struct {
	status  Status
	payload []byte
	err     error
	holder  placement.Holder
}

func refusedOutcome(err error) outcome { return outcome{status: Refused, err: err} }

func newCall(ctx context.Context, m *method, r *Request) *call {
	c := &call{ctx: ctx, method: m, payload: r.Payload, done: make(chan struct{})}
	c.chain = append(append(make([]placement.Key, 0, len(r.Chain)+1), r.Chain...), r.Key)
	c.work = c
	return c
}

// await waits for the outcome until the caller's context ends.
func (c *call) await() outcome {
	select {
	case <-c.done:
		return c.outcome
	case <-c.ctx.Done():
	}
	if c.state.CompareAndSwap(callQueued, callEnded) {
		c.payload = nil // the mailbox keeps the call until its turn
		return refusedOutcome(c.ctx.Err())
	}
	select {
	case <-c.done: // it ended just before the context did
		return c.outcome
	default:
		return outcome{status: Unknown, err: c.ctx.Err()}
	}
}

// run implements [work].
func (c *call) run(a *Activation) {
	if !c.state.CompareAndSwap(callQueued, callRunning) {
		return
	}
	defer close(c.done)
	if err := c.ctx.Err(); err != nil {
		c.outcome = refusedOutcome(err)
		return
	}
	c.outcome = outcome{status: Failed, err: &panicError{Key: a.Key(), In: c.method.name, Value: describe(nil), Stack: "?"}} // if Goexit leaves it
	c.outcome = a.invokeMethod(c)
}

// refuse implements [work].
func (c *call) refuse(err error) {
	if c.state.CompareAndSwap(callQueued, callEnded) {
		c.outcome = refusedOutcome(err)
		close(c.done)
	}
}

// callMethod runs a request in the activation and waits for the outcome.
func (a *Activation) callMethod(ctx context.Context, r *Request) outcome {
	m, ok := a.kind.kind.methods[r.Method]
	if !ok {
		return refusedOutcome(fmt.Errorf("%w: kind %q has no method %q: register it with Handle before Start, in all processes that have the kind", ErrNoMethod, clip(r.Key.Kind), clip(r.Method)))
	}
	c := newCall(ctx, m, r)
	if err := a.postCall(&c.message); err != nil {
		return refusedOutcome(err)
	}
	return c.await()
}

// invokeMethod runs a call in the activation.
func (a *Activation) invokeMethod(c *call) (o outcome) {
	ctx, end := a.contextFor(c.ctx, c.chain)
	defer end()
	var result []byte
	called := true
	err := a.catchPanic(c.method.name, func() (err error) {
		result, called, err = c.method.invoke(ctx, a.state, a.kind.session.options.Codec, c.payload)
		return err
	})
	if fault, ok := err.(*payloadFault); ok {
		err = payloadError(a.Key(), c.method.name, fault.what, fault.err)
	}
	if err == nil {
		err = a.kind.session.options.checkSize(a.Key(), c.method.name, resultOf, result)
	}
	switch {
	case err == nil:
		return outcome{status: Done, payload: result}
	case !called:
		return refusedOutcome(err)
	}
	return outcome{status: Failed, err: err}
}

// catchPanic calls a function of the program and returns an [ErrPanic] if it panics, or if a
// method of the error that it returns does: those of a nil pointer often do.
func (a *Activation) catchPanic(what string, fn func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		err = &panicError{Key: a.Key(), In: what, Value: describe(value), Unknown: isUnknownPanic(value), Stack: string(debug.Stack())}
	}()
	if err = fn(); err != nil {
		failureOf(err)                       // panics here if it ever does
		_ = errors.As(err, new(*panicError)) // so does this
	}
	returned = true
	return err
}

// describe returns the text of a panic's value. The value is nil if runtime.Goexit ended
// the goroutine.
func describe(value any) string {
	if value == nil {
		return "it has called runtime.Goexit"
	}
	return clipMessage(fmt.Sprint(value))
}

// notePanic logs a panic, and ends the activation if its kind asks for that.
func (a *Activation) notePanic(err error) {
	var p *panicError
	if !errors.As(err, &p) || p.Stack == "" { // none, or one of another activation
		return
	}
	s := a.kind.session
	s.options.Logger.Error("host: a panic", "key", a.Key().String(), "epoch", a.epoch, "err", p, "stack", p.Stack)
	if a.kind.kind.endOnPanic {
		a.endForNext()
	}
}

// noteUnknown ends the activation after a method or a timer that does not know whether its own
// transaction has committed. The commit may be under way, and land after what the next call reads. The next
// activation's claim writes the key that the fence of the commit has read: the commit has landed
// before that, or never does.
func (a *Activation) noteUnknown(err error) {
	if !isOwnUnknown(err) {
		return
	}
	a.kind.session.options.Logger.Warn("host: the outcome of a commit is unknown; the activation ends", "key", a.Key().String(), "epoch", a.epoch, "err", err)
	a.endForNext()
}

// endForNext ends the activation: calls that wait, too, go to the next one.
func (a *Activation) endForNext() {
	a.endSoon()
	a.kind.session.driver.Passivate(a.Key(), a.epoch)
}
