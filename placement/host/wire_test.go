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

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
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
	return reply.Err.Err()
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
		{name: "a key", err: placement.Key{Kind: "a/b"}.Validate(), is: []error{placement.ErrInvalidKey}},
		{name: "no member", err: fmt.Errorf("%w: r", placement.ErrNoMember), is: []error{placement.ErrNoMember}},
		{name: "a timeout", err: fmt.Errorf("%w: s", placement.ErrTimeout), is: []error{placement.ErrTimeout}},
		{name: "a lock", err: &core.LockError{Key: key, Holder: holder, Err: placement.ErrHeld}, is: []error{placement.ErrHeld}, as: &core.LockError{Key: key, Holder: holder, Err: placement.ErrHeld}},
		{
			name: "a factory's", err: &core.ActivationError{Key: key, Err: fmt.Errorf("open: %w", &overdraftError{"a", 1})},
			is: []error{errFunds}, as: &overdraftError{"a", 1},
		},
		{name: "a call's", err: &host.CallError{Key: key, Method: "m", Unknown: true, Err: placement.ErrStopped}, is: []error{host.ErrOutcomeUnknown, placement.ErrStopped}},
		{name: "a cycle", err: fmt.Errorf("%w: r", host.ErrCycle), is: []error{host.ErrCycle}},
		{name: "a chain", err: fmt.Errorf("%w: r", host.ErrChainTooLong), is: []error{host.ErrChainTooLong}},
		{name: "a method", err: fmt.Errorf("%w: r", host.ErrNoMethod), is: []error{host.ErrNoMethod}},
		{name: "a codec", err: fmt.Errorf("%w: r", host.ErrCodec), is: []error{host.ErrCodec}},
		{name: "a panic", err: &host.PanicError{Key: key, In: "m", Value: "v", Stack: "secret"}, is: []error{host.ErrPanic}, as: &host.PanicError{Key: key, In: "m", Value: "v"}},
		{name: "a payload's", err: fmt.Errorf("%w: %w", host.ErrPayload, limitError{7}), is: []error{host.ErrPayload}, not: []error{host.ErrTooLarge}, as: limitError{7}},
		{name: "a large payload's", err: fmt.Errorf("%w: r", host.ErrTooLarge), is: []error{host.ErrPayload, host.ErrTooLarge}},
		{
			name: "an unknown commit", err: fmt.Errorf("deposit: %w: %w", kv.ErrOutcomeUnknown, context.DeadlineExceeded),
			is: []error{kv.ErrOutcomeUnknown, context.DeadlineExceeded}, not: []error{host.ErrOutcomeUnknown},
		},
		{name: "a lost acknowledgement", err: kv.NewError(kv.CodeCommitUnknownResult, "x"), is: []error{kv.ErrOutcomeUnknown}},
		{name: "another protocol during a commit", err: fmt.Errorf("deposit: %w", kv.NewError(kv.CodeClusterVersionChanged, "x")), is: []error{kv.ErrOutcomeUnknown}},
		{name: "a commit at its time limit", err: fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, kv.NewError(kv.CodeTransactionTimedOut, "x")), is: []error{kv.ErrOutcomeUnknown}},
		{name: "a read at its time limit", err: kv.NewError(kv.CodeTransactionTimedOut, "x"), not: []error{kv.ErrOutcomeUnknown}},
		{name: "a full mailbox", err: fmt.Errorf("%w: r", host.ErrMailboxFull), is: []error{host.ErrMailboxFull}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := sent(t, test.err)
			if got.Error() != test.err.Error() {
				t.Errorf("its message is %q, was %q", got, test.err)
			}
			for _, is := range test.is {
				if !errors.Is(got, is) {
					t.Errorf("it is not %v", is)
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

// TestErrorsOfEarlierVersions decodes what members of versions before send, in which these states were types
// with fields: the message and the state arrive.
func TestErrorsOfEarlierVersions(t *testing.T) {
	for _, test := range []struct {
		json string
		is   error
	}{
		{`{"name":"placement.KeyError","message":"a","data":{"Key":{"Kind":"a/b","ID":"x"},"Reason":"r"}}`, placement.ErrInvalidKey},
		{`{"name":"placement.PendingError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Request":7},"wraps":[{"name":"placement.ErrPending","message":"b"}]}`, placement.ErrPending},
		{`{"name":"placement.NoMemberError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Topology":4,"Reason":"r"},"wraps":[{"name":"placement.ErrNoMember","message":"b"}]}`, placement.ErrNoMember},
		{`{"name":"placement.TimeoutError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Step":"load","After":1000000000},"wraps":[{"name":"placement.ErrTimeout","message":"b"}]}`, placement.ErrTimeout},
		{`{"name":"host.MailboxFullError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Waiting":5},"wraps":[{"name":"host.ErrMailboxFull","message":"b"}]}`, host.ErrMailboxFull},
		{`{"name":"host.CycleError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Chain":[{"Kind":"account","ID":"alice"}]}}`, host.ErrCycle},
		{`{"name":"host.DepthError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Most":32}}`, host.ErrChainTooLong},
		{`{"name":"host.MethodError","message":"a","data":{"Kind":"account","Method":"m"}}`, host.ErrNoMethod},
		{`{"name":"host.CodecError","message":"a","data":{"Got":"gob","Want":"json"}}`, host.ErrCodec},
		{`{"name":"host.PayloadError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Method":"m","What":"argument","Err":null},"wraps":[{"name":"host.SizeError","message":"b","data":{"Bytes":5,"Most":4}}]}`, host.ErrTooLarge},
		{`{"name":"host.PayloadError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Method":"m","What":"result","Err":null},"wraps":[{"message":"x"}]}`, host.ErrPayload},
		{`{"name":"host.CallError","message":"a","data":{"Key":{"Kind":"account","ID":"alice"},"Method":"m","Unknown":false,"Err":null},"wraps":[{"name":"host.CycleError","message":"b","data":{"Key":{"Kind":"account","ID":"alice"},"Chain":[]}}]}`, host.ErrCycle},
	} {
		var f host.Failure
		if err := json.Unmarshal([]byte(test.json), &f); err != nil {
			t.Fatal(err)
		}
		got := f.Err()
		if !errors.Is(got, test.is) {
			t.Errorf("%s is not %v", test.json, test.is)
		}
		if call := (*host.CallError)(nil); got.Error() != "a" && !errors.As(got, &call) {
			t.Errorf("%s says %q", test.json, got)
		}
		again, err := json.Marshal(host.Refuse(got)) // as a process in between does
		if err != nil {
			t.Fatal(err)
		}
		var reply host.Reply
		if err := json.Unmarshal(again, &reply); err != nil || !errors.Is(reply.Err.Err(), test.is) {
			t.Errorf("sent on as %s it is not %v, %v", again, test.is, err)
		}
	}
}

// TestErrorsForEarlierVersions checks that the states that were types have the names and the data by which members of
// versions before decode those types.
func TestErrorsForEarlierVersions(t *testing.T) {
	for name, err := range map[string]error{
		"placement.KeyError": placement.ErrInvalidKey, "host.CycleError": host.ErrCycle, "host.DepthError": host.ErrChainTooLong,
		"host.MethodError": host.ErrNoMethod, "host.CodecError": host.ErrCodec, "host.PayloadError": host.ErrPayload, "host.SizeError": host.ErrTooLarge,
	} {
		reply := host.Refuse(fmt.Errorf("%w: r", err))
		if len(reply.Err.Wraps) != 1 || reply.Err.Wraps[0].Name != name || string(reply.Err.Wraps[0].Data) != "{}" {
			t.Errorf("%v is sent as %+v", err, reply.Err)
		}
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
	damaged := &host.Failure{Name: "bank.overdraft", Message: "m", Data: json.RawMessage(`[1]`)}
	if got := damaged.Err(); got.Error() != "m" {
		t.Errorf("damaged data: %v", got)
	}
	for _, data := range []string{"null", "", "{"} {
		w := &host.Failure{Name: "placement.LockError", Message: "m", Data: json.RawMessage(data), Wraps: []host.Failure{{Message: "x"}}}
		if got := w.Err(); got == nil || got.Error() != "m" {
			t.Errorf("data %q: %v", data, got)
		}
	}
	if got := (*host.Failure)(nil).Err(); got == nil {
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
