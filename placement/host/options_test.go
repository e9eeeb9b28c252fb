// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// startWithMethod starts a host with one kind, which has one method that returns 0.
func startWithMethod(t *testing.T, h *host.Host) *host.Method[int, int] {
	t.Helper()
	kind, err := host.Register(h, "kind", func(context.Context, *host.Activation) (int, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	m, err := host.Handle(kind, "m", func(int, context.Context, int) (int, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// A cold activation is two transactions, an active one none.
func TestCostOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := faults.NewCounter(enginetest.InProcess(t))
		h, err := host.New(counted, host.Options{Name: "a", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		m := startWithMethod(t, h)
		call := func(id string) func() error {
			return func() error { _, err := m.Call(t.Context(), id, 1); return err }
		}
		if err := call("first")(); err != nil { // creates the directory
			t.Fatal(err)
		}
		if err := call("second")(); err != nil { // remembers it
			t.Fatal(err)
		}
		synctest.Wait()
		for _, test := range []struct {
			name, id string
			begins   int
		}{{"cold", "x", 2}, {"active", "x", 0}} {
			n, err := counted.Measure(call(test.id))
			if err != nil || n.Begins != test.begins || n.Rounds > test.begins {
				t.Errorf("a call of what is %s costs %d transactions, %v, %v", test.name, n.Begins, n, err)
			}
		}
		if err := h.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A client of a cluster that has had no member yet starts; its calls wait until their context ends.
func TestClientBeforeTheFirstMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := host.NewClient(enginetest.InProcess(t), host.Options{CallTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = client.Call(t.Context(), placement.Key{Kind: "account", ID: "alice"}, "deposit", 1, nil)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, host.ErrOutcomeUnknown) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := client.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBadOptions(t *testing.T) {
	db := enginetest.InProcess(t)
	for name, o := range map[string]host.Options{
		"no name":            {},
		"a short lease":      {Name: "a", Lease: time.Millisecond},
		"a long lease":       {Name: "a", Lease: 2 * time.Hour},
		"a negative mailbox": {Name: "a", Mailbox: -1},
		"a negative payload": {Name: "a", MaxPayload: -1},
		"a negative timeout": {Name: "a", DeactivateTimeout: -1},
	} {
		if _, err := host.New(db, o); err == nil {
			t.Errorf("%s: a host is made", name)
		}
	}
	if _, err := host.New(nil, host.Options{Name: "a"}); err == nil {
		t.Error("a host is made without a database")
	}
	for _, name := range []string{"a\x00b", "\xff", fmt.Sprint(make([]byte, 200))} {
		h, err := host.New(db, host.Options{Name: name})
		if err == nil {
			err = h.Start(t.Context())
		}
		if err == nil {
			t.Errorf("a host %q is started", name)
		}
	}
}
