// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"
	"time"
)

func TestActivates(t *testing.T) {
	for _, kept := range []bool{false, true} {
		c := newMember(t)
		key := Key{"k", "1"}
		out, err := c.Resolve(key, start)
		id := out.Request
		acq := only[TryAcquire](t, ok(t)(out, err))
		lease := Lease{Key: key, Owner: acq.Owner, Request: acq.RequestID, Epoch: 7, Kept: kept, Loaded: kept}
		out, err = c.HandleCommandResult(LockAcquired{RequestID: acq.RequestID, Key: key, Lease: lease}, start)
		if !kept {
			l := only[LoadActivation](t, ok(t)(out, err))
			out, err = c.HandleCommandResult(ActivationLoaded{RequestID: l.RequestID, Key: key}, start)
		}
		e := only[EnsureActivation](t, ok(t)(out, err))
		out, err = c.HandleCommandResult(ActivationEnsured{RequestID: e.RequestID, Key: key, Epoch: 7, Record: ActivationRecord{PID: "p"}}, start)
		s := only[StoreActivation](t, ok(t)(out, err))
		out, err = c.HandleCommandResult(ActivationStored{RequestID: s.RequestID, Key: key, Epoch: 7}, start)
		if len(out.Answers) != 1 || out.Answers[0].Request != id || out.Answers[0].Err != nil || out.Answers[0].Resolution.Locality != Local {
			t.Fatalf("answers %+v", out.Answers)
		}
		if !kept {
			only[Release](t, ok(t)(out, err))
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
	c := newMember(t)
	key := Key{"k", "1"}
	activate(t, c, key, 7, start)
	if out := c.Passivate(key, 6, start); len(out.Commands) > 0 {
		t.Errorf("another epoch than the one that is active: commands %v", out.Commands)
	}
	d := only[Deactivate](t, c.Passivate(key, 7, start.Add(time.Minute)))
	if d.Epoch != 7 || d.Cause != CauseIdle || !d.IdleSince.Equal(start) {
		t.Errorf("%+v, want the end of epoch 7 unless it was used since %v", d, start)
	}
	out, err := c.HandleCommandResult(ActivationDeactivated{RequestID: d.RequestID, Key: key, Epoch: 7}, start)
	if r := only[RemoveActivation](t, ok(t)(out, err)); r.Epoch != 7 {
		t.Errorf("%+v, want the removal of epoch 7", r)
	}
}

// TestStopAdvancesRetries: a claim that has failed for long is tried again after the longest
// pause. Stop does not wait for that pause, and those after it are short.
func TestStopAdvancesRetries(t *testing.T) {
	c := newMember(t)
	now := start
	cmd := claim(t, c, key1, now)
	for range 6 {
		deny(t, c, cmd, ErrUnavailable, now)
		now = now.Add(mostRetry)
		cmd = only[TryAcquire](t, c.Tick(now))
	}
	none(t, deny(t, c, cmd, ErrUnavailable, now))
	ok(t)(c.Stop(now))
	for range 3 {
		cmd = only[TryAcquire](t, c.Tick(now))
		deny(t, c, cmd, ErrUnavailable, now)
		none(t, c.Tick(now.Add(mostRetryStopped-1)))
		now = now.Add(mostRetryStopped)
	}
	cmd = only[TryAcquire](t, c.Tick(now))
	back := only[Release](t, grant(t, c, cmd, lease(cmd, 1), now))
	released(t, c, back, nil, now)
	if c.Held() != 0 {
		t.Errorf("%d are held", c.Held())
	}
}

// TestStopKeepsCommandUnderWay: Stop does not repeat a claim whose result is not known yet.
func TestStopKeepsCommandUnderWay(t *testing.T) {
	c := newMember(t)
	claim(t, c, key1, start)
	none(t, ok(t)(c.Stop(start)))
	none(t, c.Tick(start.Add(mostRetryStopped)))
}
