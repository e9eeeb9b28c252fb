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
