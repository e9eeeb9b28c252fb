// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

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
		if err == nil || !strings.Contains(err.Error(), "cannot be registered: ") || is != nil && !errors.Is(err, is) {
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
	_, err = Register(h, "idempotent", open, Idempotent)
	check("a kind with the option of a method", err, nil)
	_, err = Handle(kind, "ends", fn, EndOnPanic)
	check("a method with the option of a kind", err, nil)
	if _, err := MethodOf[int, int](h, "kind", "ends", EndOnPanic); err == nil {
		t.Error("a handle with the option of a kind is made")
	}
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
