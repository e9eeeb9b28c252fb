// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

var errFunds = errors.New("bank: insufficient funds")

type overdraftError struct {
	Account string
	By      int64
}

func (e *overdraftError) Error() string { return fmt.Sprintf("bank: %s lacks %d", e.Account, e.By) }

func (e *overdraftError) Is(target error) bool { return target == errFunds }

type limitError struct{ Most int } // a value, not a pointer

func (e limitError) Error() string { return fmt.Sprintf("bank: at most %d", e.Most) }

func init() {
	host.RegisterError("bank.funds", errFunds)
	host.RegisterErrorType[*overdraftError]("bank.overdraft")
	host.RegisterErrorType[limitError]("bank.limit")
}

// sent returns an error as another process gets it.
func sent(t *testing.T, err error) error {
	t.Helper()
	text, failed := json.Marshal(host.Refuse(err))
	if failed != nil {
		t.Fatal(failed)
	}
	var reply host.Reply
	if failed := json.Unmarshal(text, &reply); failed != nil {
		t.Fatal(failed)
	}
	return reply.Err.Error()
}

func TestErrorsKeepTheirType(t *testing.T) {
	key := placement.Key{Kind: "account", ID: "alice"}
	holder := placement.Holder{Owner: placement.Owner{Name: "m", Incarnation: 3}, Address: "a", Epoch: 5}
	plain := errors.New("plain")
	for _, test := range []struct {
		name string
		err  error
		is   []error
		not  []error
		as   error // found by errors.As, equal
	}{
		{name: "a sentinel", err: errFunds, is: []error{errFunds}},
		{name: "a wrapped sentinel", err: fmt.Errorf("withdraw: %w", errFunds), is: []error{errFunds}, not: []error{placement.ErrHeld}},
		{name: "a type", err: &overdraftError{"alice", 5}, is: []error{errFunds}, as: &overdraftError{"alice", 5}},
		{name: "a wrapped type", err: fmt.Errorf("withdraw: %w", &overdraftError{"alice", 5}), is: []error{errFunds}, as: &overdraftError{"alice", 5}},
		{name: "a value type", err: fmt.Errorf("a: %w", limitError{7}), as: limitError{7}},
		{name: "joined", err: errors.Join(errFunds, plain, context.DeadlineExceeded), is: []error{errFunds, context.DeadlineExceeded}, not: []error{plain}},
		{name: "not registered", err: plain, not: []error{plain, errFunds}},
		{name: "a key", err: &placement.KeyError{Key: key, Reason: "r"}, as: &placement.KeyError{Key: key, Reason: "r"}},
		{name: "no member", err: &placement.NoMemberError{Key: key, Topology: 4, Reason: "r"}, is: []error{placement.ErrNoMember}, as: &placement.NoMemberError{Key: key, Topology: 4, Reason: "r"}},
		{name: "a timeout", err: &placement.TimeoutError{Key: key, Step: "s", After: time.Second}, is: []error{placement.ErrTimeout}, as: &placement.TimeoutError{Key: key, Step: "s", After: time.Second}},
		{name: "a lock", err: &placement.LockError{Key: key, Holder: holder, Err: placement.ErrHeld}, is: []error{placement.ErrHeld}, as: &placement.LockError{Key: key, Holder: holder, Err: placement.ErrHeld}},
		{
			name: "a factory's", err: &placement.ActivationError{Key: key, Err: fmt.Errorf("open: %w", &overdraftError{"a", 1})},
			is: []error{errFunds}, as: &overdraftError{"a", 1},
		},
		{name: "a call's", err: &host.CallError{Key: key, Method: "m", Unknown: true, Err: placement.ErrStopped}, is: []error{host.ErrOutcomeUnknown, placement.ErrStopped}},
		{name: "a cycle", err: &host.CycleError{Key: key, Chain: []placement.Key{key, key}}, as: &host.CycleError{Key: key, Chain: []placement.Key{key, key}}},
		{name: "a panic", err: &host.PanicError{Key: key, In: "m", Value: "v", Stack: "secret"}, as: &host.PanicError{Key: key, In: "m", Value: "v"}},
		{name: "a payload's", err: &host.PayloadError{Key: key, Method: "m", What: "argument", Err: &host.SizeError{Bytes: 5, Most: 4}}, as: &host.SizeError{Bytes: 5, Most: 4}},
		{name: "a full mailbox", err: &host.MailboxFullError{Key: key, Waiting: 5}, is: []error{host.ErrMailboxFull}, as: &host.MailboxFullError{Key: key, Waiting: 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := sent(t, test.err)
			if got.Error() != test.err.Error() {
				t.Errorf("its message is %q, was %q", got, test.err)
			}
			for _, is := range test.is {
				if !errors.Is(got, is) {
					t.Errorf("it is no %v", is)
				}
			}
			for _, not := range test.not {
				if errors.Is(got, not) {
					t.Errorf("it is a %v", not)
				}
			}
			if test.as != nil {
				found := reflect.New(reflect.TypeOf(test.as))
				if !errors.As(got, found.Interface()) {
					t.Fatalf("there is no %T in it", test.as)
				}
				if got := found.Elem().Interface(); !reflect.DeepEqual(got, test.as) {
					t.Errorf("it has a %+v, want %+v", got, test.as)
				}
			}
		})
	}
}

// A tree without end, a long message and damaged data are bounded, not fatal.
func TestErrorsAreBounded(t *testing.T) {
	deep := errFunds
	for range 200 {
		deep = fmt.Errorf("%s %w", strings.Repeat("x", 100), deep)
	}
	text, err := json.Marshal(host.Refuse(deep))
	if err != nil || len(text) > 200<<10 {
		t.Errorf("an error of 200 levels has %d bytes, %v", len(text), err)
	}
	if got := sent(t, deep); !errors.Is(got, errFunds) {
		t.Error("what lies deeper than the bound is lost, though it is registered")
	}
	damaged := &host.WireError{Name: "bank.overdraft", Message: "m", Data: json.RawMessage(`[1]`)}
	if got := damaged.Error(); got.Error() != "m" {
		t.Errorf("damaged data: %v", got)
	}
	for _, data := range []string{"null", "", "{"} {
		w := &host.WireError{Name: "placement.LockError", Message: "m", Data: json.RawMessage(data), Wraps: []host.WireError{{Message: "x"}}}
		if got := w.Error(); got == nil || got.Error() != "m" {
			t.Errorf("data %q: %v", data, got)
		}
	}
	if got := (*host.WireError)(nil).Error(); got == nil {
		t.Error("a reply without an error gives none")
	}
}

func TestErrorsAreRegisteredOnce(t *testing.T) {
	host.RegisterError("bank.funds", errFunds) // the same again
	host.RegisterErrorType[*overdraftError]("bank.overdraft")
	for name, register := range map[string]func(){
		"another error of the name":  func() { host.RegisterError("bank.funds", errors.New("other")) },
		"another name of the error":  func() { host.RegisterError("bank.other", errFunds) },
		"a type of the name":         func() { host.RegisterErrorType[*json.SyntaxError]("bank.funds") },
		"another name of the type":   func() { host.RegisterErrorType[*overdraftError]("bank.other") },
		"no name":                    func() { host.RegisterError("", errors.New("x")) },
		"nil":                        func() { host.RegisterError("bank.nil", nil) },
		"an error of a slice's type": func() { host.RegisterError("bank.slice", sliceError{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is registered")
				}
			}()
			register()
		})
	}
	if got := sent(t, sliceError{"a"}); got.Error() != "slice" {
		t.Error(got)
	}
}

type sliceError []string

func (sliceError) Error() string { return "slice" }
