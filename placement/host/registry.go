// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// RegisterError gives an error value a name, under which it is sent between processes, so
// that errors.Is finds it in the error of a call. All processes must register the same
// errors before they start a host or a client, for example in an init function. It panics
// if the name or the error is registered otherwise.
//
// The states of packages placement and host, leasefdb.ErrLeaseLost, kv.ErrOutcomeUnknown,
// context.Canceled and context.DeadlineExceeded are registered. An error that is not arrives as one
// with the same message.
func RegisterError(name string, err error) {
	if err == nil || !comparableError(err) {
		panic(fmt.Sprintf("host: error %q cannot be registered: it is nil or not comparable", name))
	}
	registered.addSentinel(sentinel{name: name, err: err})
}

// RegisterErrorType is [RegisterError] for all errors of a type: errors.As finds
// them, with the fields that encoding/json keeps. E is a pointer to a struct, or a struct.
func RegisterErrorType[E error](name string) {
	registered.addType(name, reflect.TypeFor[E](), errorType{
		encode: func(err error) ([]byte, error) { return json.Marshal(err) },
		decode: func(data []byte, _ []error) (error, error) {
			var e E
			err := json.Unmarshal(data, &e)
			return e, err
		},
	})
}

// registerWrapper registers a type with a field Err, which is left out of what is sent
// and set from what the error wraps.
func registerWrapper[E error](name string, withErr func(e E, err error) E) {
	registered.addType(name, reflect.TypeFor[E](), errorType{
		encode: func(err error) ([]byte, error) { return json.Marshal(withErr(err.(E), nil)) },
		decode: func(data []byte, wrapped []error) (error, error) {
			var e E
			if err := json.Unmarshal(data, &e); err != nil || isNil(e) || len(wrapped) == 0 {
				return e, err
			}
			return withErr(e, wrapped[0]), nil
		},
	})
}

// errorType encodes and decodes the errors of a type.
type errorType struct {
	name   string
	encode func(error) ([]byte, error)
	decode func(data []byte, wrapped []error) (err, failed error)
}

type sentinel struct {
	name string
	err  error
	data json.RawMessage // for members of earlier versions, see registerStates
}

// errorRegistry knows which errors keep their identity.
type errorRegistry struct {
	mu     sync.RWMutex
	list   []sentinel // in the order of registration
	byErr  map[error]sentinel
	byName map[string]error // sentinels
	types  map[reflect.Type]errorType
	named  map[string]errorType
}

var registered = &errorRegistry{
	byErr: make(map[error]sentinel), byName: make(map[string]error),
	types: make(map[reflect.Type]errorType), named: make(map[string]errorType),
}

func (r *errorRegistry) addSentinel(s sentinel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[s.name] == s.err {
		return
	}
	if _, taken := r.byErr[s.err]; taken || r.taken(s.name) {
		panic(fmt.Sprintf("host: error %q cannot be registered: its name or the error itself is registered already", s.name))
	}
	r.byErr[s.err], r.byName[s.name] = s, s.err
	r.list = append(r.list, s)
}

func (r *errorRegistry) addType(name string, t reflect.Type, e errorType) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.types[t].name == name && name != "" {
		return
	}
	if _, taken := r.types[t]; taken || r.taken(name) {
		panic(fmt.Sprintf("host: error type %q cannot be registered: its name or the type is registered already", name))
	}
	e.name = name
	r.types[t], r.named[name] = e, e
}

func (r *errorRegistry) taken(name string) bool {
	_, sentinel := r.byName[name]
	_, typed := r.named[name]
	return sentinel || typed || name == ""
}

func (r *errorRegistry) sentinels() []sentinel {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.list[:len(r.list):len(r.list)]
}

// encode returns the name and the data of an error; no name if it is not
// registered or cannot be encoded.
func (r *errorRegistry) encode(err error) (string, json.RawMessage) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if comparableError(err) {
		if s, ok := r.byErr[err]; ok {
			return s.name, s.data
		}
	}
	t, ok := r.types[reflect.TypeOf(err)]
	if !ok {
		return "", nil
	}
	data, failed := t.encode(err)
	if failed != nil || len(data) > maxWireData {
		return "", nil
	}
	return t.name, data
}

// decode returns the registered error that f tells of, nil if there is none.
func (r *errorRegistry) decode(f *Failure, wrapped []error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err, ok := r.byName[f.Name]; ok {
		return err
	}
	t, ok := r.named[f.Name]
	if !ok {
		return nil
	}
	err, failed := t.decode(f.Data, wrapped)
	if failed != nil || isNil(err) {
		return nil
	}
	return err
}

func isNil(err error) bool {
	v := reflect.ValueOf(err)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func init() {
	registerStates()
	RegisterErrorType[*panicError]("host.PanicError")
	registerWrapper("placement.LockError", func(e *core.LockError, err error) *core.LockError {
		return &core.LockError{Key: e.Key, Holder: e.Holder, Err: err}
	})
	registerWrapper("placement.StorageError", func(e *core.StorageError, err error) *core.StorageError {
		return &core.StorageError{Key: e.Key, Op: e.Op, Err: err}
	})
	registerWrapper("placement.ActivationError", func(e *core.ActivationError, err error) *core.ActivationError {
		return &core.ActivationError{Key: e.Key, Err: err}
	})
	registerWrapper("leasefdb.LostError", func(e *leasefdb.LostError, err error) *leasefdb.LostError {
		return &leasefdb.LostError{Name: e.Name, Epoch: e.Epoch, Reason: e.Reason, Err: err}
	})
	registerWrapper("host.CallError", func(e *CallError, err error) *CallError {
		return &CallError{Key: e.Key, Method: e.Method, Unknown: e.Unknown, Err: err}
	})
}

// registerStates registers the sentinels of both packages. Some have the name of an error type
// of earlier versions: members of those versions send the type, which has the message and
// decodes to the sentinel here, and decode the sentinel to an empty value of their type, for
// which they need data.
func registerStates() {
	empty := json.RawMessage("{}")
	for _, s := range []sentinel{
		{"placement.KeyError", placement.ErrInvalidKey, empty},
		{"host.CycleError", ErrCycle, empty},
		{"host.DepthError", ErrChainTooLong, empty},
		{"host.MethodError", ErrNoMethod, empty},
		{"host.PayloadError", ErrPayload, empty},
		{"host.SizeError", ErrTooLarge, empty},
		{"host.CodecError", ErrCodec, empty},
		{"context.Canceled", context.Canceled, nil},
		{"context.DeadlineExceeded", context.DeadlineExceeded, nil},
		{"placement.ErrNotReady", placement.ErrNotReady, nil},
		{"placement.ErrStopped", placement.ErrStopped, nil},
		{"placement.ErrDead", placement.ErrDead, nil},
		{"placement.ErrPending", placement.ErrPending, nil},
		{"placement.ErrNoMember", placement.ErrNoMember, nil},
		{"placement.ErrOverloaded", placement.ErrOverloaded, nil},
		{"placement.ErrHeld", placement.ErrHeld, nil},
		{"placement.ErrStale", placement.ErrStale, nil},
		{"placement.ErrUnavailable", placement.ErrUnavailable, nil},
		{"placement.ErrTooLarge", placement.ErrTooLarge, nil},
		{"placement.ErrTimeout", placement.ErrTimeout, nil},
		{"placement.ErrTopologyBehind", placement.ErrTopologyBehind, nil},
		{"placement.ErrActivationLost", placement.ErrActivationLost, nil},
		{"leasefdb.ErrLeaseLost", leasefdb.ErrLeaseLost, nil},
		{"kv.ErrOutcomeUnknown", kv.ErrOutcomeUnknown, nil},
		{"host.ErrOutcomeUnknown", ErrOutcomeUnknown, nil},
		{"host.ErrUnreachable", ErrUnreachable, nil},
		{"host.ErrNotHere", ErrNotHere, nil},
		{"host.ErrOverloaded", ErrOverloaded, nil},
		{"host.ErrMailboxFull", ErrMailboxFull, nil},
		{"host.ErrDeactivated", ErrDeactivated, nil},
	} {
		registered.addSentinel(s)
	}
}
