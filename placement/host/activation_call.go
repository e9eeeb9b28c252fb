// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// callMethod runs a request in the activation and waits for the outcome.
func (a *Activation) callMethod(ctx context.Context, r *Request) outcome {
	m, ok := a.kind.kind.methods[r.Method]
	if !ok {
		return refusedOutcome(&MethodError{Kind: r.Key.Kind, Method: r.Method})
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
	if most := a.kind.session.options.MaxPayload; err == nil && len(result) > most {
		err = &PayloadError{What: resultOf, Err: &SizeError{Bytes: len(result), Most: most}}
	}
	var fault *PayloadError
	if errors.As(err, &fault) && fault.Method == "" {
		fault.Key, fault.Method = a.Key(), c.method.name
	}
	switch {
	case err == nil:
		return outcome{status: Done, payload: result}
	case !called:
		return refusedOutcome(err)
	}
	return outcome{status: Failed, err: err}
}

// catchPanic calls a function of the program and returns a *[PanicError] if it panics, or if a
// method of the error that it returns does: those of a nil pointer often do.
func (a *Activation) catchPanic(what string, fn func() error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		err = &PanicError{Key: a.Key(), In: what, Value: describe(recover()), Stack: string(debug.Stack())}
	}()
	if err = fn(); err != nil {
		wireErrorOf(err) // panics here if it ever does
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
	var p *PanicError
	if !errors.As(err, &p) || p.Stack == "" { // none, or one of another activation
		return
	}
	s := a.kind.session
	s.options.Logger.Error("host: a panic", "key", a.Key().String(), "epoch", a.epoch, "err", p, "stack", p.Stack)
	if a.kind.kind.endOnPanic {
		a.endSoon()
		s.driver.Passivate(a.Key(), a.epoch)
	}
}
