// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
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
	c.outcome = outcome{status: Failed, err: &PanicError{Key: a.Key(), In: c.method.name, Value: describe(nil), Stack: "?"}} // if Goexit leaves it
	c.outcome = a.invokeMethod(c)
}

// refuse implements [work].
func (c *call) refuse(err error) {
	if c.state.CompareAndSwap(callQueued, callEnded) {
		c.outcome = refusedOutcome(err)
		close(c.done)
	}
}
