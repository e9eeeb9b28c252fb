// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func member(name string, kinds ...string) Member {
	return Member{Owner: Owner{name, 1}, Address: name + ":1", Kinds: kinds}
}

// alone returns the coordinator of member a in a topology of its own.
func alone(t testing.TB, change ...func(*Options)) *Coordinator {
	t.Helper()
	o := Options{Self: Owner{"a", 1}, Address: "a:1"}
	for _, f := range change {
		f(&o)
	}
	c, err := NewCoordinator(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartMember([]string{"k"}, start); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UpdateTopology(Topology{Version: 1, Members: []Member{member("a", "k")}}, start); err != nil {
		t.Fatal(err)
	}
	return c
}

// only returns the command of an outcome, which must be the only one and of the type.
func only[C Command](t testing.TB, out Outcome, err error) C {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Commands) != 1 {
		t.Fatalf("commands %v, want one", out.Commands)
	}
	cmd, ok := out.Commands[0].(C)
	if !ok {
		t.Fatalf("command %#v, want a %T", out.Commands[0], cmd)
	}
	return cmd
}

func TestActivates(t *testing.T) {
	for _, kept := range []bool{false, true} {
		c := alone(t)
		key := Key{"k", "1"}
		out, err := c.Resolve(key, start)
		id := out.Request
		acq := only[TryAcquire](t, out, err)
		lease := Lease{Key: key, Owner: acq.Owner, Request: acq.RequestID, Epoch: 7, Kept: kept, Loaded: kept}
		out, err = c.HandleCommandResult(LockAcquired{RequestID: acq.RequestID, Key: key, Lease: lease}, start)
		if !kept {
			l := only[LoadActivation](t, out, err)
			out, err = c.HandleCommandResult(ActivationLoaded{RequestID: l.RequestID, Key: key}, start)
		}
		e := only[EnsureActivation](t, out, err)
		out, err = c.HandleCommandResult(ActivationEnsured{RequestID: e.RequestID, Key: key, Epoch: 7, Record: ActivationRecord{PID: "p"}}, start)
		s := only[StoreActivation](t, out, err)
		out, err = c.HandleCommandResult(ActivationStored{RequestID: s.RequestID, Key: key, Epoch: 7}, start)
		if len(out.Answers) != 1 || out.Answers[0].Request != id || out.Answers[0].Err != nil || out.Answers[0].Resolution.Locality != Local {
			t.Fatalf("answers %+v", out.Answers)
		}
		if !kept {
			only[Release](t, out, err)
		} else if len(out.Commands) > 0 {
			t.Fatal(out.Commands)
		}
		out, err = c.Resolve(key, start)
		if err != nil || out.Resolution == nil || out.Resolution.Locality != Local || out.Resolution.PID != "p" || out.Resolution.Epoch != 7 || len(out.Events) != 1 {
			t.Fatalf("%+v %v", out, err)
		}
	}
}

func TestRefusesUntilReady(t *testing.T) {
	c, err := NewCoordinator(Options{Self: Owner{"a", 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(Key{"k", "1"}, start); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	c.StartMember([]string{"k"}, start)
	out, err := c.Resolve(Key{"k", "1"}, start)
	if !errors.Is(err, ErrNotReady) || len(out.Events) != 1 || out.Events[0].Kind != Refused {
		t.Fatal(err, out.Events)
	}
}

func TestPassivateOne(t *testing.T) {
	c := alone(t)
	key := Key{"k", "1"}
	activateKept(t, c, key, 7)
	if out := c.Passivate(key, 6, start); len(out.Commands) > 0 {
		t.Errorf("another epoch than the one that is active: commands %v", out.Commands)
	}
	d := only[Deactivate](t, c.Passivate(key, 7, start.Add(time.Minute)), nil)
	if d.Epoch != 7 || d.Cause != CauseIdle || !d.IdleSince.Equal(start) {
		t.Errorf("%+v, want the end of epoch 7 unless it was used since %v", d, start)
	}
	out, err := c.HandleCommandResult(ActivationDeactivated{RequestID: d.RequestID, Key: key, Epoch: 7}, start)
	if r := only[RemoveActivation](t, out, err); r.Epoch != 7 {
		t.Errorf("%+v, want the removal of epoch 7", r)
	}
}

// activateKept activates a key under an epoch, with a claim that is kept.
func activateKept(t *testing.T, c *Coordinator, key Key, epoch int64) {
	t.Helper()
	out, err := c.Resolve(key, start)
	acq := only[TryAcquire](t, out, err)
	lease := Lease{Key: key, Owner: acq.Owner, Request: acq.RequestID, Epoch: epoch, Kept: true, Loaded: true}
	out, err = c.HandleCommandResult(LockAcquired{RequestID: acq.RequestID, Key: key, Lease: lease}, start)
	e := only[EnsureActivation](t, out, err)
	out, err = c.HandleCommandResult(ActivationEnsured{RequestID: e.RequestID, Key: key, Epoch: epoch}, start)
	s := only[StoreActivation](t, out, err)
	if _, err := c.HandleCommandResult(ActivationStored{RequestID: s.RequestID, Key: key, Epoch: epoch}, start); err != nil {
		t.Fatal(err)
	}
}
