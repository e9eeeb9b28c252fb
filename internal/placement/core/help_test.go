// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	selfA = placement.Owner{Name: "a", Incarnation: 1}
	key1  = placement.Key{Kind: "k", ID: "1"}
)

// member returns a member that activates the kind k.
func member(name string) placement.Member {
	return placement.Member{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name + ":1", Kinds: []string{"k"}}
}

func topology(version int64, names ...string) placement.Topology {
	t := placement.Topology{Version: version}
	for _, name := range names {
		t.Members = append(t.Members, member(name))
	}
	return t
}

// newMember returns the coordinator of member a, in a topology of its own.
func newMember(t testing.TB, change ...func(*Options)) *Coordinator {
	t.Helper()
	o := Options{Self: selfA, Address: "a:1"}
	for _, f := range change {
		f(&o)
	}
	c, err := NewCoordinator(o)
	if err != nil {
		t.Fatal(err)
	}
	ok(t)(c.StartMember([]string{"k"}, start))
	ok(t)(c.UpdateTopology(topology(1, "a"), start))
	return c
}

// ok returns a function that passes an outcome on, and fails the test if there is an error.
func ok(t testing.TB) func(Outcome, error) Outcome {
	return func(out Outcome, err error) Outcome {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// only returns the command of an outcome: it must be the only one, and a C.
func only[C Command](t testing.TB, out Outcome) C {
	t.Helper()
	if len(out.Commands) != 1 {
		t.Fatalf("commands %#v, want one", out.Commands)
	}
	cmd, isC := out.Commands[0].(C)
	if !isC {
		t.Fatalf("command %#v, want a %T", out.Commands[0], cmd)
	}
	return cmd
}

// none fails the test if an outcome has commands.
func none(t testing.TB, out Outcome) {
	t.Helper()
	if len(out.Commands) > 0 {
		t.Fatalf("commands %#v, want none", out.Commands)
	}
}

// answer returns the answer of an outcome, which must be the only one.
func answer(t testing.TB, out Outcome) Answer {
	t.Helper()
	if len(out.Answers) != 1 {
		t.Fatalf("answers %+v, want one", out.Answers)
	}
	return out.Answers[0]
}

func hasEvent(out Outcome, kind placement.EventKind) bool {
	for _, e := range out.Events {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// lease grants a claim in the way of a home in which the claim is the activation.
func lease(c TryAcquire, epoch int64) Lease {
	return Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: epoch, Kept: true, Loaded: true}
}

// grant tells the coordinator that a claim was granted.
func grant(t testing.TB, c *Coordinator, cmd TryAcquire, l Lease, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(LockAcquired{RequestID: cmd.RequestID, Key: cmd.Key, Lease: l}, now))
}

// ensure tells the coordinator that an activation was made.
func ensure(t testing.TB, c *Coordinator, cmd EnsureActivation, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(ActivationEnsured{RequestID: cmd.RequestID, Key: cmd.Key, Epoch: cmd.Epoch, Record: ActivationRecord{PID: "p"}}, now))
}

// store tells the coordinator what became of a store.
func store(t testing.TB, c *Coordinator, cmd StoreActivation, err error, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(ActivationStored{RequestID: cmd.RequestID, Key: cmd.Key, Epoch: cmd.Lease.Epoch, Err: err}, now))
}

// activate makes a key active under an epoch, in a home in which the claim is the activation.
func activate(t testing.TB, c *Coordinator, key placement.Key, epoch int64, now time.Time) Outcome {
	t.Helper()
	cmd := claim(t, c, key, now)
	made := only[EnsureActivation](t, grant(t, c, cmd, lease(cmd, epoch), now))
	return store(t, c, only[StoreActivation](t, ensure(t, c, made, now)), nil, now)
}

// lapsing grants a claim as a home of locks that lapse does: entries
// are loaded and stored separately.
func lapsing(c TryAcquire, epoch int64, until time.Time) Lease {
	return Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: epoch, ExpiresAt: until}
}

// load tells the coordinator what the storage has.
func load(t testing.TB, c *Coordinator, cmd LoadActivation, e *ActivationEntry, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(ActivationLoaded{RequestID: cmd.RequestID, Key: cmd.Key, Entry: e}, now))
}

// deny tells the coordinator that a claim was not granted.
func deny(t testing.TB, c *Coordinator, cmd TryAcquire, err error, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(LockAcquired{RequestID: cmd.RequestID, Key: cmd.Key, Err: err}, now))
}

// ended tells the coordinator that an activation has ended.
func ended(t testing.TB, c *Coordinator, cmd Deactivate, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(ActivationDeactivated{RequestID: cmd.RequestID, Key: cmd.Key, Epoch: cmd.Epoch}, now))
}

// released tells the coordinator what became of a release.
func released(t testing.TB, c *Coordinator, cmd Release, err error, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(LockReleased{RequestID: cmd.RequestID, Key: cmd.Key, Epoch: cmd.Lease.Epoch, Err: err}, now))
}

// removed tells the coordinator what became of a removal.
func removed(t testing.TB, c *Coordinator, cmd RemoveActivation, err error, now time.Time) Outcome {
	t.Helper()
	return ok(t)(c.HandleCommandResult(ActivationRemoved{RequestID: cmd.RequestID, Key: cmd.Key, Epoch: cmd.Epoch, Err: err}, now))
}

// claim begins a request for a key that belongs here.
func claim(t testing.TB, c *Coordinator, key placement.Key, now time.Time) TryAcquire {
	t.Helper()
	return only[TryAcquire](t, ok(t)(c.Resolve(key, now)))
}

// isLocal reports whether a resolve finds an activation in use under an epoch.
func isLocal(t testing.TB, c *Coordinator, key placement.Key, epoch int64, now time.Time) bool {
	t.Helper()
	r := ok(t)(c.Resolve(key, now)).Resolution
	return r != nil && r.Locality == Local && r.Epoch == epoch
}

// keyOf returns a key that belongs to an owner.
func keyOf(c *Coordinator, owner placement.Owner) placement.Key {
	for i := range 1000 {
		key := placement.Key{Kind: "k", ID: string(rune('A' + i))}
		if d, err := c.decideAuthority(key); err == nil && d.Authority == owner {
			return key
		}
	}
	panic("no key belongs to " + owner.String())
}

// Failures returns how many errors the lookup keeps.
func (p *Partition) Failures() int { return len(p.failures) }

func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	slices.Sort(names)
	return names
}
