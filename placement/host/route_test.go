// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// routes is a transport whose addresses are functions.
type routes struct {
	alone
	to func(ctx context.Context, address string, r Request) (Reply, error)

	mu   sync.Mutex
	sent []string // address and forwards
}

func (x *routes) Address() string { return "self" }

func (x *routes) Call(ctx context.Context, address string, r Request) (Reply, error) {
	x.mu.Lock()
	x.sent = append(x.sent, fmt.Sprint(address, r.Forwards))
	x.mu.Unlock()
	return x.to(ctx, address, r)
}

func (x *routes) path() string { return strings.Join(x.sent, " ") }

func holderAt(name string, epoch int64) placement.Holder {
	return placement.Holder{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name, Epoch: epoch}
}

func remote(h placement.Holder) placement.Resolution {
	return placement.Resolution{Locality: placement.Remote, Owner: h.Owner, Address: h.Address, Epoch: h.Epoch}
}

// newRouted returns a host that finds keys where at says, and its transport.
func newRouted(t *testing.T, options ...MethodOption) (m *Method[string, string], p *process, x *routes, f *fakeLookup, at *placement.Holder) {
	x, at = new(routes), new(placement.Holder)
	h, _, f := newFake(t, Options{Transport: x, MaxPayload: 100}, func(h *Host) {
		kind := must[*Kind[int]](t)(Register(h, "kind", func(context.Context, *Activation) (int, error) { return 0, nil }))
		m = must[*Method[string, string]](t)(Handle(kind, "m", func(int, context.Context, string) (string, error) { return "here", nil }, options...))
	})
	f.resolve = func(ctx context.Context, _ placement.Key) (placement.Resolution, error) {
		return remote(*at), ctx.Err()
	}
	return m, &h.process, x, f, at
}

func done(result string, h placement.Holder) (Reply, error) {
	return Reply{Status: Done, Payload: fmt.Appendf(nil, "%q", result), Holder: h}, nil
}

// The reply tells who has the key: what was known is corrected.
func TestReplyCorrectsLocation(t *testing.T) {
	m, _, x, f, at := newRouted(t)
	*at = holderAt("a", 3)
	there := holderAt("b", 4)
	x.to = func(context.Context, string, Request) (Reply, error) { return done("ok", there) }
	if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
		t.Fatal(got, err)
	}
	if len(f.learned) != 1 || f.learned[0] != there {
		t.Errorf("learned %v", f.learned)
	}
	*at = there
	if _, err := m.Call(t.Context(), "id", ""); err != nil || len(f.learned) != 1 {
		t.Errorf("a right location was learned again: %v, %v", f.learned, err)
	}
}

// A process that does not have the activation says so, and the call goes to who has it.
func TestRefusalIsRetriedElsewhere(t *testing.T) {
	for name, refusal := range map[string]Reply{
		"not here":           Refuse(ErrNotHere),
		"it stops":           Refuse(placement.ErrStopped),
		"it is dead":         Refuse(placement.ErrDead),
		"it has no topology": Refuse(placement.ErrNotReady),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, f, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(_ context.Context, address string, _ Request) (Reply, error) {
					if address == "a" {
						*at = holderAt("b", 4)
						return refusal, nil
					}
					return done("b", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "b" {
					t.Error(got, err)
				}
				if x.path() != "a0 b0" || len(f.learned) != 0 || len(f.forgot) != 1 {
					t.Errorf("went to %s; learned %v, forgot %v", x.path(), f.learned, f.forgot)
				}
			})
		})
	}
}

func TestUnreachableIsRetriedUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, x, f, at := newRouted(t)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) {
			return Reply{}, fmt.Errorf("%w: refused", ErrUnreachable)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := m.Call(ctx, "id", "")
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrOutcomeUnknown) {
			t.Error(err)
		}
		if n := len(x.sent); n < 60 || n > 600 || len(f.forgot) != n {
			t.Errorf("%d attempts in a minute, %d locations forgotten", n, len(f.forgot))
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	broken := errors.New("connection reset")
	for name, failure := range map[string]func() (Reply, error){
		"the connection breaks":     func() (Reply, error) { return Reply{}, broken },
		"a forwarder does not know": func() (Reply, error) { return Reply{Status: Unknown, Err: wireErrorOf(broken)}, nil },
		"a reply without status":    func() (Reply, error) { return Reply{}, nil },
		"a status of a newer version": func() (Reply, error) {
			return Reply{Status: Unknown + 1}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, _, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) { return failure() }
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || len(x.sent) != 1 {
					t.Errorf("%v after %d attempts", err, len(x.sent))
				}

				m, _, x, _, at = newRouted(t, Idempotent)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) < 3 {
						return failure()
					}
					return done("ok", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
					t.Errorf("an idempotent method: %v, %v", got, err)
				}

				// If no attempt succeeds, that one may have been handled stays known.
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) == 4 {
						return failure()
					}
					return Reply{}, ErrUnreachable
				}
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrUnreachable) {
					t.Errorf("an idempotent method that is unreachable in the end: %v", err)
				}
			})
		})
	}
}

// Refusals that another attempt cannot change are returned at once.
func TestFinalRefusals(t *testing.T) {
	key := placement.Key{Kind: "kind", ID: "id"}
	for _, refusal := range []error{
		&MethodError{Kind: "kind", Method: "m"}, &MailboxFullError{Key: key}, ErrOverloaded, &CodecError{Got: "a", Want: "b"},
		&placement.NoMemberError{Key: key}, &placement.ActivationError{Key: key, Err: errors.New("x")}, &PayloadError{Err: errors.New("x")},
	} {
		m, _, x, _, at := newRouted(t, Idempotent)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) { return Refuse(refusal), nil }
		_, err := m.Call(t.Context(), "id", "")
		var failed *CallError
		if !errors.As(err, &failed) || failed.Unknown || len(x.sent) != 1 || !strings.Contains(err.Error(), refusal.Error()) {
			t.Errorf("%T: %v after %d attempts", refusal, err, len(x.sent))
		}
	}
}

// A request is forwarded twice, no more.
func TestForwards(t *testing.T) {
	_, p, x, _, at := newRouted(t)
	*at = holderAt("b", 4)
	x.to = func(context.Context, string, Request) (Reply, error) { return done("b", *at) }
	for forwards, path := range []string{"b1", "b2", ""} {
		x.sent = nil
		reply := p.serve(t.Context(), Request{Key: placement.Key{Kind: "kind", ID: "id"}, Method: "m", Codec: "json", Forwards: forwards, Payload: []byte(`""`)})
		if x.path() != path {
			t.Errorf("a request that was forwarded %d times goes to %q", forwards, x.path())
		}
		if refused := reply.Status == Refused && errors.Is(reply.Err.Error(), ErrNotHere); refused != (path == "") || refused != (reply.Holder != *at) {
			t.Errorf("the reply to it: %+v", reply)
		}
	}
}

// A request says whom its sender takes for the holder. A process that is taken for it, and has
// no activation, gives back what a home may have for it.
func TestRequestSaysTo(t *testing.T) {
	_, p, x, f, at := newRouted(t)
	*at = holderAt("b", 4)
	var to placement.Holder
	x.to = func(_ context.Context, _ string, r Request) (Reply, error) {
		to = r.To
		return done("b", *at)
	}
	self := holderAt("self", 3)
	for _, incoming := range []placement.Holder{{}, holderAt("self", 0), self, {Owner: placement.Owner{Name: "self", Incarnation: 2}, Epoch: 3}} {
		p.serve(t.Context(), Request{Key: placement.Key{Kind: "kind", ID: "id"}, Method: "m", Codec: "json", To: incoming, Payload: []byte(`""`)})
		if to != *at {
			t.Errorf("the request went on to %+v, want %+v", to, *at)
		}
	}
	if len(f.forgot) != 1 || f.forgot[0] != self {
		t.Errorf("forgot %+v, want %+v alone", f.forgot, self)
	}
}

// What arrives from other processes is checked before anything is done with it.
func TestRequestsAreChecked(t *testing.T) {
	_, p, x, f, _ := newRouted(t)
	f.resolve = func(context.Context, placement.Key) (placement.Resolution, error) {
		t.Error("it was resolved")
		return placement.Resolution{}, placement.ErrStopped
	}
	key := placement.Key{Kind: "kind", ID: "id"}
	long := make([]placement.Key, MaxChain)
	for name, r := range map[string]Request{
		"another codec":          {Key: key, Method: "m", Codec: "gob"},
		"no codec":               {Key: key, Method: "m"},
		"an empty kind":          {Key: placement.Key{ID: "id"}, Method: "m", Codec: "json"},
		"a NUL":                  {Key: placement.Key{Kind: "kind", ID: "i\x00d"}, Method: "m", Codec: "json"},
		"an id that is too long": {Key: placement.Key{Kind: "kind", ID: strings.Repeat("x", 1025)}, Method: "m", Codec: "json"},
		"no method":              {Key: key, Codec: "json"},
		"a long method":          {Key: key, Method: strings.Repeat("m", 256), Codec: "json"},
		"a large payload":        {Key: key, Method: "m", Codec: "json", Payload: make([]byte, 101)},
		"a cycle":                {Key: key, Method: "m", Codec: "json", Chain: []placement.Key{key}},
		"a long chain":           {Key: key, Method: "m", Codec: "json", Chain: long},
		"many forwards":          {Key: key, Method: "m", Codec: "json", Forwards: 3},
		"negative forwards":      {Key: key, Method: "m", Codec: "json", Forwards: -1},
	} {
		reply := p.serve(t.Context(), r)
		if reply.Status != Refused || reply.Err.Error() == nil {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	if len(x.sent) > 0 {
		t.Error(x.sent)
	}
}

func TestPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s, _ := newFake(t, Options{MaxPayload: 100}, func(h *Host) {
			kind := must[*Kind[int]](t)(Register(h, "kind", func(context.Context, *Activation) (int, error) { return 0, nil }))
			must[*Method[int, string]](t)(Handle(kind, "repeat", func(_ int, _ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }))
			must[*Method[int, func()]](t)(Handle(kind, "func", func(int, context.Context, int) (func(), error) { return func() {}, nil }))
		})
		s.activate(t, "kind", "id", 1)
		key := placement.Key{Kind: "kind", ID: "id"}
		var out string
		for _, test := range []struct {
			name, method, what string
			in, out            any
		}{
			{"an argument that JSON cannot carry", "repeat", argument, func() {}, &out},
			{"an argument that is too large", "repeat", argument, strings.Repeat("x", 101), &out},
			{"an argument of another type", "repeat", argument, "text", &out},
			{"a result that is too large", "repeat", resultOf, 101, &out},
			{"a result that JSON cannot carry", "func", resultOf, 1, nil},
			{"a result of another type", "repeat", resultOf, 1, new(int)},
		} {
			err := h.Call(t.Context(), key, test.method, test.in, test.out)
			var fault *PayloadError
			if !errors.As(err, &fault) || fault.What != test.what || fault.Key != key || fault.Method != test.method {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if err := h.Call(t.Context(), key, "repeat", 3, &out); err != nil || out != "xxx" {
			t.Errorf("%q, %v", out, err)
		}
		if err := h.Call(t.Context(), key, "repeat", 3, nil); err != nil {
			t.Errorf("a result that nobody wants: %v", err)
		}
		var unknown *MethodError
		if err := h.Call(t.Context(), key, "other", 3, nil); !errors.As(err, &unknown) {
			t.Errorf("an unknown method: %v", err)
		}
		for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("m", 256)} {
			if err := h.Call(t.Context(), key, name, 3, nil); err == nil {
				t.Errorf("method %q is called", name)
			}
		}
	})
}

func TestRegistration(t *testing.T) {
	h := newHost(&process{options: Options{}.withDefaults(), cluster: fakeCluster{}})
	open := func(context.Context, *Activation) (int, error) { return 0, nil }
	fn := func(int, context.Context, int) (int, error) { return 0, nil }
	kind := must[*Kind[int]](t)(Register(h, "kind", open))
	must[*Method[int, int]](t)(Handle(kind, "m", fn))
	register := func(name string) error { _, err := Register(h, name, open); return err }
	handle := func(name string) error { _, err := Handle(kind, name, fn); return err }
	check := func(what string, err error, is error) {
		t.Helper()
		var fault *RegistrationError
		if !errors.As(err, &fault) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"", "a/b", "a\x00b", "\xff", strings.Repeat("k", 256), "kind"} {
		check("kind "+name, register(name), nil)
	}
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("m", 256), "m"} {
		check("method "+name, handle(name), nil)
	}
	_, err := Register[int](h, "nil", nil)
	check("a factory that is nil", err, nil)
	_, err = Handle[int, int, int](kind, "nil", nil)
	check("a function that is nil", err, nil)
	h.started = true
	check("a kind after Start", register("late"), ErrStarted)
	check("a method after Start", handle("late"), ErrStarted)
}

func TestStates(t *testing.T) {
	h := newHost(&process{options: Options{}.withDefaults(), cluster: fakeCluster{}})
	key := placement.Key{Kind: "kind", ID: "id"}
	if err := h.Call(t.Context(), key, "m", 1, nil); !errors.Is(err, ErrNotStarted) {
		t.Errorf("before Start: %v", err)
	}
	if _, member := h.Member(); member {
		t.Error("a host that was not started is a member")
	}
	for range 2 {
		if err := h.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	if err := h.Call(t.Context(), key, "m", 1, nil); !errors.Is(err, placement.ErrStopped) {
		t.Errorf("after Stop: %v", err)
	}
	if err := h.Start(t.Context()); !errors.Is(err, placement.ErrStopped) {
		t.Errorf("Start after Stop: %v", err)
	}
}

// closableTransport counts how often it is closed.
type closableTransport struct {
	alone
	closed int
}

func (c *closableTransport) Close(context.Context) error {
	c.closed++
	return nil
}

// stopper is a host or a client.
type stopper interface {
	Start(context.Context) error
	Stop(context.Context) error
}

// A transport listens from the beginning: callers of a process that never served would wait.
func TestStopBeforeStartClosesTheTransport(t *testing.T) {
	for name, newProcess := range map[string]func(p *process) stopper{
		"host":   func(p *process) stopper { return newHost(p) },
		"client": func(p *process) stopper { return newClient(p) },
	} {
		transport := new(closableTransport)
		x := newProcess(&process{options: Options{Transport: transport}.withDefaults(), cluster: fakeCluster{}})
		for range 2 {
			if err := x.Stop(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if transport.closed != 1 {
			t.Errorf("%s: the transport was closed %d times", name, transport.closed)
		}
		if err := x.Start(t.Context()); !errors.Is(err, placement.ErrStopped) {
			t.Errorf("%s: a start after the stop: %v", name, err)
		}
	}
}
