// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/placement"
)

// Kind is a kind of virtual actors, as [Register] returns it. Its activations are
// values of T.
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

// Option is an option of [Register], [Handle] or [MethodOf].
type Option uint8

// The options.
const (
	// EndOnPanic is for [Register]. It ends an activation after one of its methods or timers has panicked:
	// the next call makes a new one. Without it the activation goes on with the state that the panic left.
	EndOnPanic Option = iota + 1
	// Idempotent is for [Handle] and [MethodOf]. It says that the method may run twice for one call. If the
	// outcome of a call is unknown, the call is then repeated until its context ends, instead of returning an
	// [ErrOutcomeUnknown].
	Idempotent
)

// checkOptions refuses options other than the one that is possible.
func checkOptions(options []Option, possible Option) error {
	if slices.ContainsFunc(options, func(o Option) bool { return o != possible }) {
		return errors.New("it has an option of something else: EndOnPanic is for kinds, Idempotent for methods")
	}
	return nil
}

// Register tells the host to activate a kind, before [Host.Start]. open is the factory: it makes the
// value of an activation; [Handle] registers the methods of that value. It is called under the activation's
// fence, once at a time for a key. ctx ends with the activation, and when the factory takes too
// long; a panic is an error.
//
// If T has a method Deactivate(ctx context.Context) error, the host calls it after the last call of the
// activation. The fence of the activation still holds then, unless the activation was lost, in which case
// [Activation.Context] has ended. ctx ends after [Options.DeactivateTimeout].
//
// It fails for a name that is not a [placement.Key.Kind], that is registered already, or
// after Start.
func Register[T any](h *Host, name string, open func(ctx context.Context, a *Activation) (T, error), options ...Option) (*Kind[T], error) {
	if open == nil {
		return nil, registrationError(name, errors.New("its factory is nil"))
	}
	if err := checkOptions(options, EndOnPanic); err != nil {
		return nil, registrationError(name, err)
	}
	k := &kind{name: name, methods: make(map[string]*method), endOnPanic: slices.Contains(options, EndOnPanic)}
	k.open = func(ctx context.Context, a *Activation) (any, error) { return open(ctx, a) }
	if err := h.addKind(k); err != nil {
		return nil, err
	}
	return &Kind[T]{host: h, kind: k}, nil
}

// Handle registers a method of a kind, before [Host.Start]: fn is called with the value of the
// activation, often as a method expression, (*account).Deposit. The context of fn ends
// with the caller's and with the activation, and has the deadline of the caller's but none of its values; a call with that
// context, or one made of it, knows that the activation waits. A panic is an [ErrPanic] for the caller.
// In and Out must be what the codec can carry.
//
// It fails for a name that is empty, longer than 255 bytes, not UTF-8 or registered
// already, or after Start.
func Handle[T, In, Out any](k *Kind[T], name string, fn func(T, context.Context, In) (Out, error), options ...Option) (*Method[In, Out], error) {
	if fn == nil {
		return nil, registrationError(name, errors.New("its function is nil"))
	}
	if err := checkOptions(options, Idempotent); err != nil {
		return nil, registrationError(name, err)
	}
	m := newMethod(name, options)
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
	// invoke calls the handler. An error about the argument or the result is a *payloadFault.
	invoke func(ctx context.Context, state any, c Codec, payload []byte) (result []byte, called bool, err error)
}

func newMethod(name string, options []Option) *method {
	return &method{name: name, idempotent: slices.Contains(options, Idempotent)}
}

// MethodOf returns a handle of a method that this process does not register
// itself. c is a *[Client] or a *[Host].
func MethodOf[In, Out any](c Caller, kind, name string, options ...Option) (*Method[In, Out], error) {
	err := errors.Join(checkMethod(name), (placement.Key{Kind: kind, ID: "id"}).Validate(), checkOptions(options, Idempotent))
	if err != nil {
		return nil, err
	}
	return &Method[In, Out]{caller: c.callingProcess(), kind: kind, method: newMethod(name, options)}, nil
}

// Call calls the method of the activation of an id, which is made if there is
// none, and returns what the handler returns. It goes to another
// process at most once unless it is certain that no handler has got it, or the
// method is [Idempotent].
//
// An error is that of the handler, see [RegisterError]; or a *[CallError] if the call
// failed on its way, which says whether it may have been handled; or an [ErrPayload].
// A *[CallError] wraps, among others: ctx's error; [placement.ErrInvalidKey], [placement.ErrNoMember]
// or another error of package placement; [ErrNoMethod]; [ErrMailboxFull]; [ErrCycle].
func (m *Method[In, Out]) Call(ctx context.Context, id string, in In) (out Out, err error) {
	err = m.caller.callValues(ctx, placement.Key{Kind: m.kind, ID: id}, m.method, in, &out)
	return out, err
}

// Caller is what calls activations: a *[Host] or a *[Client].
type Caller interface {
	// Call calls a method with types that are known at run time only: in is
	// encoded, the result decoded into what out points to; a nil out drops it. See [Method.Call].
	Call(ctx context.Context, key placement.Key, method string, in, out any) error
	callingProcess() *process
}

// invoke decodes the argument, calls the handler and encodes its result. called reports
// whether the handler was called.
func invoke[In, Out any](fn func(In) (Out, error), c Codec, payload []byte) (result []byte, called bool, err error) {
	var in In
	if err := c.Unmarshal(payload, &in); err != nil {
		return nil, false, &payloadFault{argument, err}
	}
	out, err := fn(in)
	if err != nil {
		return nil, true, err
	}
	if result, err = c.Marshal(out); err != nil {
		return nil, true, &payloadFault{resultOf, err}
	}
	return result, true, nil
}

// Codec encodes arguments and results. Calls within a process also use it, so
// that an activation never shares memory with its callers. All processes of a cluster use
// the same. It is safe for concurrent use.
type Codec interface {
	// Name tells it from other codecs: a request in another one is refused.
	Name() string
	// Marshal encodes a value.
	Marshal(value any) ([]byte, error)
	// Unmarshal decodes into what value points to. It does not keep data.
	Unmarshal(data []byte, value any) error
}

// jsonCodec is the default [Codec]: encoding/json.
type jsonCodec struct{}

// Name implements [Codec].
func (jsonCodec) Name() string { return "json" }

// Marshal implements [Codec].
func (jsonCodec) Marshal(value any) ([]byte, error) { return json.Marshal(value) }

// Unmarshal implements [Codec].
func (jsonCodec) Unmarshal(data []byte, value any) error { return json.Unmarshal(data, value) }
