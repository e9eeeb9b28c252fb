// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"unicode/utf8"
)

// The bounds of an error in a reply.
const (
	maxWireErrors  = 32       // of a tree
	maxWireMessage = 4 << 10  // bytes each
	maxWireData    = 16 << 10 // bytes each
)

// WireError is an error as a [Reply] carries it: a tree like that of the error's
// Unwrap methods. [RegisterError] says which nodes keep their identity.
type WireError struct {
	Name    string          `json:"name,omitempty"` // under which it is registered
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // of a registered type
	Wraps   []WireError     `json:"wraps,omitempty"`
}

// wireErrorOf returns an error as it is sent. Nodes beyond a bound are missing in the tree;
// the message of the whole error remains.
func wireErrorOf(err error) *WireError {
	left := maxWireErrors
	found := make(map[string]bool)
	w := encodeError(err, &left, found)
	for _, s := range registered.sentinels() { // an Is method tells of more than Unwrap
		if !found[s.name] && errors.Is(err, s.err) {
			w.Wraps = append(w.Wraps, WireError{Name: s.name, Message: clipMessage(s.err.Error())})
		}
	}
	return &w
}

func encodeError(err error, left *int, found map[string]bool) WireError {
	*left--
	w := WireError{Message: clipMessage(err.Error())}
	w.Name, w.Data = registered.encode(err)
	found[w.Name] = true
	for _, wrapped := range unwrap(err) {
		if *left <= 0 {
			break
		}
		w.Wraps = append(w.Wraps, encodeError(wrapped, left, found))
	}
	return w
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

// Error returns the error that was sent: the registered one, a value of the
// registered type, or else a *[RemoteError] with the same message.
func (w *WireError) Error() error {
	if w == nil {
		return &RemoteError{Message: "host: the reply tells of an error but not of which"}
	}
	left := maxWireErrors + len(registered.sentinels())
	return w.decode(&left)
}

func (w *WireError) decode(left *int) error {
	*left--
	var wrapped []error
	for i := range w.Wraps {
		if *left <= 0 {
			break
		}
		wrapped = append(wrapped, w.Wraps[i].decode(left))
	}
	known := registered.decode(w, wrapped)
	if known == nil {
		return &RemoteError{Message: clipMessage(w.Message), wrapped: wrapped}
	}
	wrapped = slices.DeleteFunc(wrapped, func(err error) bool { return errors.Is(known, err) })
	if len(wrapped) == 0 && known.Error() == w.Message {
		return known
	}
	return &RemoteError{Message: clipMessage(w.Message), wrapped: append([]error{known}, wrapped...)}
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

// RemoteError is an error of a handler that is not registered, or that wraps
// registered ones: errors.Is and errors.As find those in it.
type RemoteError struct {
	Message string

	wrapped []error
}

// Error implements error.
func (e *RemoteError) Error() string { return e.Message }

// Unwrap returns the errors that the handler's error wrapped.
func (e *RemoteError) Unwrap() []error { return e.wrapped }

// identity encodes and decodes an error, so that calls within a process and between
// processes return the same.
func identity(err error) error { return wireErrorOf(err).Error() }

// comparableError reports whether an error can be a key of a map.
func comparableError(err error) bool { return reflect.ValueOf(err).Comparable() }
