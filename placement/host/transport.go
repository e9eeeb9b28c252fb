// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Transport carries requests between the processes of a cluster. Package
// placement/host/http2 has one. It is safe for concurrent use. Suite
// hosttest.RunTransport checks an implementation.
type Transport interface {
	// Address returns where other processes reach this one. It does not change.
	// It is "" for a transport that only calls, for clients.
	Address() string
	// Serve begins to give requests to handle, each on a goroutine of its own, and
	// returns. It is called at most once. The context of handle ends when the caller's does, as far as
	// the transport can tell. handle does not keep what the request refers to.
	Serve(handle func(ctx context.Context, r Request) Reply) error
	// Call sends a request to the process at an address and returns its reply.
	// The deadline of ctx travels with the request; when ctx ends, the context
	// of the handler does. An error is an [ErrUnreachable] only if it is certain
	// that no handler got the request and none will. After any other error a
	// handler may have got it, but no more than once.
	Call(ctx context.Context, address string, r Request) (Reply, error)
	// Close refuses new requests, waits for those under way until ctx ends, and
	// ends the contexts of those that are left.
	Close(ctx context.Context) error
}

// Request is a message to an activation, as a [Transport] carries it.
type Request struct {
	Key      placement.Key `json:"key"`
	Method   string        `json:"method"`
	Codec    string        `json:"codec"`              // the name of the codec of the payload
	Forwards int           `json:"forwards,omitempty"` // by how many processes it was forwarded, at most MaxForwards
	// To is the holder of the key according to the sender, which got it from a home or another
	// process. Its epoch is 0 if the sender goes by its strategy alone. A process that is not this
	// owner refuses the request.
	To placement.Holder `json:"to,omitzero"`
	// Cluster is the id of the sender's cluster. Processes of another one refuse the request. It is "" if
	// the cluster has none, and if the sender's program is of a version that sends none.
	Cluster string          `json:"cluster,omitempty"`
	Chain   []placement.Key `json:"chain,omitempty"` // the activations that wait for the reply, the first caller first
	Payload []byte          `json:"-"`               // the argument
}

// MaxForwards is how many processes may pass a request on to another one that has
// the activation. A request that would need more is refused, and its caller resolves the
// key anew.
const MaxForwards = 2

// Reply is the answer to a [Request].
type Reply struct {
	Status  Status           `json:"status"`
	Err     *Failure         `json:"err,omitempty"`   // unless the status is Done
	Holder  placement.Holder `json:"holder,omitzero"` // of the activation that got the request
	Payload []byte           `json:"-"`               // the result, if the status is Done
}

// Status is the outcome of a request.
type Status uint8

// The statuses. The zero value is not one.
const (
	Done    Status = iota + 1 // the handler has returned a result
	Failed                    // the handler has returned an error
	Refused                   // the handler was certainly not called
	Unknown                   // the handler may have been called
)

// alone is the transport of a cluster of one process.
type alone struct{}

// Address implements [Transport].
func (alone) Address() string { return "" }

// Serve implements [Transport].
func (alone) Serve(func(context.Context, Request) Reply) error { return nil }

// Call implements [Transport].
func (alone) Call(context.Context, string, Request) (Reply, error) {
	return Reply{}, fmt.Errorf("%w: this one has no Options.Transport", ErrUnreachable)
}

// Close implements [Transport].
func (alone) Close(context.Context) error { return nil }

// The bounds of an error in a reply.
const (
	maxWireErrors  = 32       // of a tree
	maxWireMessage = 4 << 10  // bytes each
	maxWireData    = 16 << 10 // bytes each
)

// Failure is an error as a [Reply] carries it: a tree like that of the error's
// Unwrap methods. [RegisterError] says which nodes keep their identity.
type Failure struct {
	Name    string          `json:"name,omitempty"` // under which it is registered
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // of a registered type
	Wraps   []Failure       `json:"wraps,omitempty"`
}

// failureOf returns an error as it is sent. Nodes beyond a bound are missing in the tree;
// the message of the whole error remains.
func failureOf(err error) *Failure {
	left := maxWireErrors
	found := make(map[string]bool)
	f := encodeError(err, &left, found)
	for _, s := range registered.sentinels() { // an Is method tells of more than Unwrap
		if !found[s.name] && (errors.Is(err, s.err) || s.err == kv.ErrOutcomeUnknown && kv.IsOutcomeUnknown(err)) { // codes are not sent
			f.Wraps = append(f.Wraps, Failure{Name: s.name, Message: clipMessage(s.err.Error()), Data: s.data})
		}
	}
	return &f
}

func encodeError(err error, left *int, found map[string]bool) Failure {
	*left--
	f := Failure{Message: clipMessage(err.Error())}
	f.Name, f.Data = registered.encode(err)
	found[f.Name] = true
	for _, wrapped := range unwrap(err) {
		if *left <= 0 {
			break
		}
		f.Wraps = append(f.Wraps, encodeError(wrapped, left, found))
	}
	return f
}

func unwrap(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if wrapped := e.Unwrap(); wrapped != nil {
			return []error{wrapped}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// Err returns the error that was sent: the registered one, a value of the
// registered type, or else an error with the same message, in which errors.Is and
// errors.As find the registered ones that it wraps. That of an unknown outcome is always of the
// last kind, see isOwnUnknown.
func (f *Failure) Err() error {
	if f == nil {
		return &remoteError{message: "host: the reply tells of an error but not of which"}
	}
	left := maxWireErrors + len(registered.sentinels())
	err := f.decode(&left)
	if _, remote := err.(*remoteError); !remote && kv.IsOutcomeUnknown(err) {
		return &remoteError{message: err.Error(), wrapped: []error{err}}
	}
	return err
}

func (f *Failure) decode(left *int) error {
	*left--
	var wrapped []error
	for i := range f.Wraps {
		if *left <= 0 {
			break
		}
		wrapped = append(wrapped, f.Wraps[i].decode(left))
	}
	known := registered.decode(f, wrapped)
	if known == nil {
		return &remoteError{message: clipMessage(f.Message), wrapped: wrapped}
	}
	wrapped = slices.DeleteFunc(wrapped, func(err error) bool { return errors.Is(known, err) })
	if len(wrapped) == 0 && known.Error() == f.Message {
		return known
	}
	return &remoteError{message: clipMessage(f.Message), wrapped: append([]error{known}, wrapped...)}
}

func clipMessage(s string) string {
	if len(s) <= maxWireMessage {
		return s
	}
	s = s[:maxWireMessage]
	for !utf8.ValidString(s) && len(s) > maxWireMessage-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// remoteError is an error of a handler that is not registered, or that wraps
// registered ones.
type remoteError struct {
	message string
	wrapped []error
}

// Error implements error.
func (e *remoteError) Error() string { return e.message }

// Unwrap returns the errors that the handler's error wrapped.
func (e *remoteError) Unwrap() []error { return e.wrapped }

// identity encodes and decodes an error, so that calls within a process and between
// processes return the same.
func identity(err error) error { return failureOf(err).Err() }

// comparableError reports whether an error can be a key of a map.
func comparableError(err error) bool { return reflect.ValueOf(err).Comparable() }
