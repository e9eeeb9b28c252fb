// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"
	"time"
)

// A claim that a home executes once more, late, when its request has been
// answered and its lock was released: the activation stays in use, and the lock is given back.
func TestLateLeaseLeavesActivation(t *testing.T) {
	c, key := newMember(t), Key{"k", "1"}
	first := activateLapsing(t, c, key, 7)
	late := Lease{Key: key, Owner: Owner{"a", 1}, Request: first, Epoch: 9}
	out, err := c.HandleCommandResult(LockAcquired{RequestID: first, Key: key, Lease: late}, start)
	if r := only[Release](t, ok(t)(out, err)); r.Lease.Epoch != 9 {
		t.Errorf("%+v, want the release of epoch 9", r)
	}
	out, err = c.Resolve(key, start)
	if err != nil || out.Resolution == nil || out.Resolution.Epoch != 7 {
		t.Errorf("%+v, %v, want the activation of epoch 7", out, err)
	}
}

// activateLapsing activates a key under an epoch of a lock that is released then. It
// returns the request.
func activateLapsing(t *testing.T, c *Coordinator, key Key, epoch int64) RequestID {
	t.Helper()
	out, err := c.Resolve(key, start)
	acq := only[TryAcquire](t, ok(t)(out, err))
	id := acq.RequestID
	out, err = c.HandleCommandResult(LockAcquired{RequestID: id, Key: key, Lease: Lease{Key: key, Owner: acq.Owner, Request: id, Epoch: epoch}}, start)
	only[LoadActivation](t, ok(t)(out, err))
	out, err = c.HandleCommandResult(ActivationLoaded{RequestID: id, Key: key}, start)
	only[EnsureActivation](t, ok(t)(out, err))
	out, err = c.HandleCommandResult(ActivationEnsured{RequestID: id, Key: key, Epoch: epoch}, start)
	only[StoreActivation](t, ok(t)(out, err))
	out, err = c.HandleCommandResult(ActivationStored{RequestID: id, Key: key, Epoch: epoch}, start)
	only[Release](t, ok(t)(out, err))
	if _, err := c.HandleCommandResult(LockReleased{RequestID: id, Key: key, Epoch: epoch}, start); err != nil {
		t.Fatal(err)
	}
	return id
}

// What a home has of this member without its knowledge is given back once another
// member asks for it.
func TestForgetSelf(t *testing.T) {
	c, key := newMember(t), Key{"k", "1"}
	self := Holder{Owner: Owner{"a", 1}, Epoch: 5}
	r := only[Release](t, c.Forget(key, self, start))
	if r.Lease.Epoch != 5 || r.Lease.Owner != self.Owner {
		t.Errorf("%+v, want the release of epoch 5", r)
	}
	if out := c.Forget(key, self, start); len(out.Commands) > 0 {
		t.Errorf("told again meanwhile: %v", out.Commands)
	}
	out, err := c.HandleCommandResult(LockReleased{RequestID: r.RequestID, Key: key, Epoch: 5, Err: ErrStale}, start)
	m := only[RemoveActivation](t, ok(t)(out, err))
	if m.Epoch != 5 || m.Owner != self.Owner {
		t.Errorf("%+v, want the removal of epoch 5", m)
	}
	out, err = c.HandleCommandResult(ActivationRemoved{RequestID: m.RequestID, Key: key, Epoch: 5, Err: ErrUnavailable}, start)
	if err != nil || len(out.Commands) > 0 || c.Held() != 1 {
		t.Errorf("%+v, %v, %d held; want that it is tried again later", out, err, c.Held())
	}
	only[RemoveActivation](t, c.Forget(key, self, start)) // a call has come for it: it is tried again now
	if _, err := c.HandleCommandResult(ActivationRemoved{RequestID: m.RequestID, Key: key, Epoch: 5}, start); err != nil || c.Held() != 0 {
		t.Errorf("%v, %d held", err, c.Held())
	}
}

// What is in use, or under way, is not given back.
func TestForgetSelfInUse(t *testing.T) {
	c, key := newMember(t), Key{"k", "1"}
	out, err := c.Resolve(key, start)
	only[TryAcquire](t, ok(t)(out, err))
	if out := c.Forget(key, Holder{Owner: Owner{"a", 1}, Epoch: 5}, start); len(out.Commands) > 0 {
		t.Errorf("while it is claimed: %v", out.Commands)
	}
	c = newMember(t)
	activate(t, c, key, 7, start)
	if out := c.Forget(key, Holder{Owner: Owner{"a", 1}, Epoch: 7}, start); len(out.Commands) > 0 {
		t.Errorf("while it is in use: %v", out.Commands)
	}
	if _, err := c.Stop(start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(key, start); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	if out := c.Forget(Key{"k", "2"}, Holder{Owner: Owner{"a", 1}, Epoch: 5}, start); len(out.Commands) > 0 {
		t.Errorf("once stopped: %v", out.Commands)
	}
}

// A resolve that waits for the end of something begins anew at once if the home
// cannot be asked to give it back: it does not wait for the next tries.
func TestResolveDoesNotWaitForRetries(t *testing.T) {
	c := newMember(t)
	activate(t, c, key1, 1, start)
	end := only[Deactivate](t, c.PassivateIdle(start, 0))
	waits := ok(t)(c.Resolve(key1, start)).Request
	remove := only[RemoveActivation](t, ended(t, c, end, start))
	again := only[TryAcquire](t, removed(t, c, remove, ErrUnavailable, start))
	made := only[EnsureActivation](t, grant(t, c, again, lease(again, 2), start))
	out := store(t, c, only[StoreActivation](t, ensure(t, c, made, start)), nil, start)
	if a := answer(t, out); a.Request != waits || a.Resolution.Epoch != 2 {
		t.Errorf("answer %+v, want epoch 2 for request %d", a, waits)
	}
	only[RemoveActivation](t, c.Tick(start.Add(time.Minute))) // of epoch 1, still
}

// An executor refuses to end an activation for idleness, then it must end all the
// same, and the refusal arrives a second time, before the end: it is no end.
func TestRefusalTwiceIsNoEnd(t *testing.T) {
	c, key := newMember(t), Key{"k", "1"}
	activateLapsing(t, c, key, 7)
	later := start.Add(time.Hour)
	idle := only[Deactivate](t, c.PassivateIdle(later, time.Minute))
	if out, err := c.Stop(later); err != nil || len(out.Commands) > 0 {
		t.Fatalf("%+v, %v, want nothing before the end that is under way", out, err)
	}
	refusal := ActivationDeactivated{RequestID: idle.RequestID, Key: key, Epoch: 7, UsedAt: later}
	out, err := c.HandleCommandResult(refusal, later)
	if d := only[Deactivate](t, ok(t)(out, err)); d.Cause != CauseStop {
		t.Errorf("%+v, want an end that cannot be refused", d)
	}
	if out, err = c.HandleCommandResult(refusal, later); err != nil || len(out.Commands) > 0 {
		t.Errorf("%+v, %v, want nothing: the activation has not ended", out, err)
	}
	refusal.UsedAt = time.Time{}
	out, err = c.HandleCommandResult(refusal, later)
	only[RemoveActivation](t, ok(t)(out, err))
}
