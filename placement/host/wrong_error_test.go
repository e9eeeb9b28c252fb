// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// causedError panics where a method of a nil one is called.
type causedError struct{ Cause error }

func (e *causedError) Error() string { return "caused: " + e.Cause.Error() }

func (e *causedError) Unwrap() error { return e.Cause }

// detailsError is of a comparable type, and its value may not be comparable.
type detailsError struct{ Details any }

func (detailsError) Error() string { return "details" }

// misleadingError panics in As only, and says that the outcome is unknown.
type misleadingError struct{}

func (*misleadingError) Error() string { return "misleading" }

func (*misleadingError) Unwrap() error { return kv.ErrOutcomeUnknown }

func (*misleadingError) As(any) bool { panic("ouch") }

// unsendableError cannot be encoded.
type unsendableError struct{}

func (*unsendableError) Error() string { return "unsendable" }

func (*unsendableError) MarshalJSON() ([]byte, error) { panic("ouch") }

// An error that panics when it is looked at ends the call that returned it, and nothing else.
func TestErrorsThatPanic(t *testing.T) {
	RegisterErrorType[*unsendableError]("test.unsendable")
	for name, wrong := range map[string]error{
		"a nil pointer":                (*causedError)(nil),
		"a pointer with nil in it":     &causedError{},
		"one that cannot be encoded":   &unsendableError{},
		"one that panics in As":        &misleadingError{},
		"a nil pointer in another one": errors.Join(errors.New("a"), (*causedError)(nil)),
		"a nil pointer in a wrapper":   &causedError{&causedError{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.on("wrong", func(context.Context, *actor) error { return wrong })
			register, method := s.register(t)
			_, session, _ := newFake(t, Options{}, register)
			session.activate(t, "actor", "x", 1)
			var fault *panicError
			if _, err := (*method).Call(t.Context(), "x", "wrong"); !errors.As(err, &fault) || fault.In != "do" {
				t.Errorf("the call returns %v", err)
			}
			if _, err := (*method).Call(t.Context(), "x", ""); err != nil {
				t.Error("the next call:", err)
			}
		})
	}
}

// Whether an error can be a key of a map depends on its value, not on its type alone.
func TestErrorThatIsNotComparable(t *testing.T) {
	if text, err := json.Marshal(Refuse(detailsError{[]string{"a"}})); err != nil {
		t.Error(string(text), err)
	}
	defer func() {
		if text, ok := recover().(string); !ok {
			t.Error("it is registered, or the panic does not say why not:", text)
		}
	}()
	RegisterError("test.details", detailsError{[]string{"a"}})
}
