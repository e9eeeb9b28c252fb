// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key   = placement.Key{Kind: "account", ID: "alice"}
	one   = placement.Topology{Version: 1, Members: []placement.Member{{Owner: placement.Owner{Name: "a", Incarnation: 1}, Kinds: []string{"account"}}}}
)

func newPartition(t testing.TB) *core.Partition {
	t.Helper()
	c, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "a", Incarnation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return core.NewPartition(c)
}

func setup(t testing.TB) *core.Partition {
	t.Helper()
	p := newPartition(t)
	if err := errors.Join(p.SetupMember([]string{"account"}, start), p.UpdateTopology(one, start)); err != nil {
		t.Fatal(err)
	}
	return p
}

// run executes commands until there are none.
func run(t testing.TB, p *core.Partition) {
	t.Helper()
	for cmds := p.DrainCommands(); len(cmds) > 0; cmds = p.DrainCommands() {
		for _, cmd := range cmds {
			if err := p.HandleCommandResult(execute(cmd), start); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPending(t *testing.T) {
	p := setup(t)
	for range 3 {
		if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrPending) || !strings.Contains(err.Error(), key.String()) {
			t.Fatalf("%v, want an ErrPending of the key", err)
		}
	}
	if n := len(p.DrainEvents()); n != 2+3 {
		t.Errorf("%d events, want one of each resolve and two of the start", n)
	}
	run(t, p)
	r, err := p.Resolve(key, start)
	if err != nil || r.Locality != core.Local || r.PID != "alice's mailbox" || r.Decision.Authority.Name != "a" {
		t.Errorf("%+v, %v, want that it is active here", r, err)
	}
}

func TestFailureIsToldOnce(t *testing.T) {
	p := setup(t)
	p.Resolve(key, start)
	cmd := p.DrainCommands()[0].(core.TryAcquire)
	held := &core.LockError{Key: key, Err: placement.ErrHeld}
	if err := p.HandleCommandResult(core.LockAcquired{RequestID: cmd.RequestID, Key: key, Err: held}, start); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrHeld) {
		t.Errorf("%v, want why the request failed", err)
	}
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrPending) {
		t.Errorf("%v, want that it begins anew", err)
	}
}

func TestRefusals(t *testing.T) {
	p := newPartition(t)
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrStopped) {
		t.Error(err)
	}
	if err := p.SetupClient(start); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrNotReady) {
		t.Error(err)
	}
	if err := p.UpdateTopology(one, start); err != nil {
		t.Fatal(err)
	}
	r, err := p.Resolve(key, start)
	if err != nil || r.Locality != core.Remote || len(p.DrainCommands()) > 0 {
		t.Errorf("%+v, %v, want the authority and no command", r, err)
	}
	p.OnMemberLeft(placement.Owner{Name: "a", Incarnation: 1}, start)
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrNoMember) {
		t.Error(err)
	}
}

func TestPassivationAndStop(t *testing.T) {
	p := setup(t)
	p.Resolve(key, start)
	run(t, p)
	p.PassivateIdle(start.Add(time.Minute), time.Minute)
	run(t, p)
	if s := p.Snapshot(); s.Held != 0 {
		t.Errorf("%d are held after passivation", s.Held)
	}
	p.Resolve(key, start)
	if err := p.Stop(start); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resolve(key, start); !errors.Is(err, placement.ErrStopped) {
		t.Error(err)
	}
}

// The bounded table of failures does not grow with keys that are never asked for again.
func TestFailuresAreBounded(t *testing.T) {
	p := setup(t)
	for i := range 25_000 {
		k := placement.Key{Kind: "account", ID: fmt.Sprint(i)}
		p.Resolve(k, start)
		cmd := p.DrainCommands()[0].(core.TryAcquire)
		if err := p.HandleCommandResult(core.LockAcquired{RequestID: cmd.RequestID, Key: k, Err: placement.ErrHeld}, start); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Failures(); n > 10_000 {
		t.Errorf("%d failures are kept", n)
	}
}

func ExamplePartition() {
	c, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "a", Incarnation: 1}})
	if err != nil {
		panic(err)
	}
	p := core.NewPartition(c)
	now := start
	if err := errors.Join(p.SetupMember([]string{"account"}, now), p.UpdateTopology(one, now)); err != nil {
		panic(err)
	}
	_, err = p.Resolve(key, now)
	fmt.Println(errors.Is(err, placement.ErrPending))
	for cmds := p.DrainCommands(); len(cmds) > 0; cmds = p.DrainCommands() {
		for _, cmd := range cmds {
			fmt.Printf("%T\n", cmd)
			if err := p.HandleCommandResult(execute(cmd), now); err != nil {
				panic(err)
			}
		}
	}
	r, err := p.Resolve(key, now)
	fmt.Println(r.Locality, r.PID, err)
	for _, e := range p.DrainEvents() {
		fmt.Print(e.Kind, " ")
	}
	// Output:
	// true
	// core.TryAcquire
	// core.EnsureActivation
	// core.StoreActivation
	// local alice's mailbox <nil>
	// TopologyChanged Started Requested Acquired Activated Resolved Resolved
}
