// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/placement"
)

// Method is a typed handle of a method of a kind: it calls the method wherever
// the activation is. [Handle] returns it, and [MethodOf] for kinds of other
// processes. It is safe for concurrent use.
type Method[In, Out any] struct {
	caller *process
	kind   string
	method *method
}

// method is what [Handle] registers.
type method struct {
	name       string
	idempotent bool
	invoke     func(ctx context.Context, state any, c Codec, payload []byte) (result []byte, called bool, err error)
}

// MethodOption is an option of [Handle] and [MethodOf].
type MethodOption func(*method)

// Idempotent says that the method may run twice for one call. A call whose outcome is unknown is
// then repeated until its context ends, instead of returning an [ErrOutcomeUnknown].
func Idempotent(m *method) { m.idempotent = true }

// MethodOf returns a handle of a method that this process does not register
// itself. c is a *[Client] or a *[Host].
func MethodOf[In, Out any](c Caller, kind, name string, options ...MethodOption) (*Method[In, Out], error) {
	err := errors.Join(checkMethod(name), (placement.Key{Kind: kind, ID: "id"}).Validate())
	if err != nil {
		return nil, err
	}
	m := &method{name: name}
	for _, option := range options {
		option(m)
	}
	return &Method[In, Out]{caller: c.callingProcess(), kind: kind, method: m}, nil
}

// Call calls the method of the activation of an id, which is made if there is
// none, and returns what the handler returns. It goes to another
// process at most once unless it is certain that no handler has got it, or the
// method is [Idempotent].
//
// An error is that of the handler, see [RegisterError]; or a *[CallError] if the call
// failed on its way, which says whether it may have been handled; or a *[PayloadError].
// A *[CallError] wraps, among others: ctx's error; a *[placement.KeyError], a *[placement.NoMemberError]
// or another one of package placement; a *[MethodError]; a *[MailboxFullError]; a *[CycleError].
func (m *Method[In, Out]) Call(ctx context.Context, id string, in In) (out Out, err error) {
	err = m.caller.callValues(ctx, placement.Key{Kind: m.kind, ID: id}, m.method, in, &out)
	return out, err
}

// Caller is what calls activations: a *[Host] or a *[Client].
type Caller interface {
	// Call calls a method whose types are not known at compile time: in is
	// encoded, the result decoded into what out points to; a nil out drops it. See [Method.Call].
	Call(ctx context.Context, key placement.Key, method string, in, out any) error
	callingProcess() *process
}

// invoke decodes the argument, calls the handler and encodes its result. called reports
// whether the handler was called.
func invoke[In, Out any](fn func(In) (Out, error), c Codec, payload []byte) (result []byte, called bool, err error) {
	var in In
	if err := c.Unmarshal(payload, &in); err != nil {
		return nil, false, &PayloadError{What: argument, Err: err}
	}
	out, err := fn(in)
	if err != nil {
		return nil, true, err
	}
	if result, err = c.Marshal(out); err != nil {
		return nil, true, &PayloadError{What: resultOf, Err: err}
	}
	return result, true, nil
}

const argument, resultOf = "argument", "result"
