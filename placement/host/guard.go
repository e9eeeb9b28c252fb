// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// guard calls what belongs to the program and returns a *[PanicError] for its panic. The methods of
// the error that it returns belong to the program, too: those of a nil pointer often panic.
func (a *Activation) guard(what string, fn func() error) (err error) {
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

// describe says what a panic was of; of nothing if runtime.Goexit ends the goroutine.
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
