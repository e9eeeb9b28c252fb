// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// Kind is a kind of virtual actors whose activations are values of T, as
// [Register] returns it.
type Kind[T any] struct {
	host *Host
	kind *kind
}

// kind is what a [Kind] registers.
type kind struct {
	name       string
	open       func(ctx context.Context, a *Activation) (any, error)
	methods    map[string]*method
	endOnPanic bool
}

// KindOption is an option of [Register].
type KindOption func(*kind)

// EndOnPanic ends an activation one of whose methods or timers has panicked: its next call
// makes a new one. Without it the activation goes on with the state that the panic left.
func EndOnPanic(k *kind) { k.endOnPanic = true }

// Register tells the host to activate a kind, before [Host.Start]. open is the factory: it makes the
// value of an activation, whose methods [Handle] registers. It is called under the activation's
// fence, once at a time for a key. ctx ends with the activation, and when the factory takes too
// long; a panic is an error. If T is a [Deactivator], the host calls it at the end.
//
// It returns a *[RegistrationError] for a name that is no [placement.Key.Kind], that is registered already, or
// after Start.
func Register[T any](h *Host, name string, open func(ctx context.Context, a *Activation) (T, error), options ...KindOption) (*Kind[T], error) {
	if open == nil {
		return nil, &RegistrationError{Name: name, Reason: "its factory is nil"}
	}
	k := &kind{name: name, methods: make(map[string]*method), open: func(ctx context.Context, a *Activation) (any, error) { return open(ctx, a) }}
	for _, option := range options {
		option(k)
	}
	if err := h.addKind(k); err != nil {
		return nil, err
	}
	return &Kind[T]{host: h, kind: k}, nil
}

// Handle registers a method of a kind, before [Host.Start]: fn is called with the value of the
// activation, often as a method expression, (*account).Deposit. The context of fn ends
// with the caller's and with the activation, and has the deadline of the caller's but none of its values; a call with that
// context, or one made of it, knows that the activation waits. A panic is a *[PanicError] for the caller.
// In and Out must be what the codec can carry.
//
// It returns a *[RegistrationError] for a name that is empty, longer than 255 bytes, no UTF-8 or registered
// already, or after Start.
func Handle[T, In, Out any](k *Kind[T], name string, fn func(T, context.Context, In) (Out, error), options ...MethodOption) (*Method[In, Out], error) {
	if fn == nil {
		return nil, &RegistrationError{Name: name, Reason: "its function is nil"}
	}
	m := &method{name: name}
	for _, option := range options {
		option(m)
	}
	m.invoke = func(ctx context.Context, state any, c Codec, payload []byte) ([]byte, bool, error) {
		return invoke(func(in In) (Out, error) { return fn(state.(T), ctx, in) }, c, payload)
	}
	if err := k.host.addMethod(k.kind, m); err != nil {
		return nil, err
	}
	return &Method[In, Out]{caller: &k.host.process, kind: k.kind.name, method: m}, nil
}

// checkMethod checks the name of a method, which is like that of a kind.
func checkMethod(name string) error {
	if err := (placement.Key{Kind: "kind", ID: name}).Validate(); err != nil || len(name) > placement.MaxKind {
		return fmt.Errorf("host: the method %q is invalid: it must have 1 to %d bytes of UTF-8 without NUL", clip(name), placement.MaxKind)
	}
	return nil
}
