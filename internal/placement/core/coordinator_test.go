// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

func TestActivates(t *testing.T) {
	for _, kept := range []bool{false, true} {
		c := newMember(t)
		key := placement.Key{Kind: "k", ID: "1"}
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
	c, err := NewCoordinator(Options{Self: placement.Owner{Name: "a", Incarnation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(placement.Key{Kind: "k", ID: "1"}, start); !errors.Is(err, placement.ErrStopped) {
		t.Fatal(err)
	}
	c.StartMember([]string{"k"}, start)
	out, err := c.Resolve(placement.Key{Kind: "k", ID: "1"}, start)
	if !errors.Is(err, placement.ErrNotReady) || len(out.Events) != 1 || out.Events[0].Kind != placement.Refused {
		t.Fatal(err, out.Events)
	}
}

func TestPassivateOne(t *testing.T) {
	c := newMember(t)
	key := placement.Key{Kind: "k", ID: "1"}
	activate(t, c, key, 7, start)
	if out := c.Passivate(key, 6, start); len(out.Commands) > 0 {
		t.Errorf("another epoch than the one that is active: commands %v", out.Commands)
	}
	d := only[Deactivate](t, c.Passivate(key, 7, start.Add(time.Minute)))
	if d.Epoch != 7 || d.Cause != placement.CauseIdle || !d.IdleSince.Equal(start) {
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
		deny(t, c, cmd, placement.ErrUnavailable, now)
		now = now.Add(mostRetry)
		cmd = only[TryAcquire](t, c.Tick(now))
	}
	none(t, deny(t, c, cmd, placement.ErrUnavailable, now))
	ok(t)(c.Stop(now))
	for range 3 {
		cmd = only[TryAcquire](t, c.Tick(now))
		deny(t, c, cmd, placement.ErrUnavailable, now)
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

// TestStopKeepsCommandUnderWay: Stop does not repeat a claim while its result is not known yet.
func TestStopKeepsCommandUnderWay(t *testing.T) {
	c := newMember(t)
	claim(t, c, key1, start)
	none(t, ok(t)(c.Stop(start)))
	none(t, c.Tick(start.Add(mostRetryStopped)))
}

// The news that a member's earlier incarnation has left comes after the topology
// that lists the later one: that one stays.
func TestMemberLeftLate(t *testing.T) {
	c := newMember(t)
	second := placement.Member{Owner: placement.Owner{Name: "b", Incarnation: 2}, Address: "b:1", Kinds: []string{"other"}}
	if _, err := c.UpdateTopology(placement.Topology{Version: 2, Members: []placement.Member{member("a"), second}}, start); err != nil {
		t.Fatal(err)
	}
	c.OnMemberLeft(placement.Owner{Name: "b", Incarnation: 1}, start)
	if _, err := c.Resolve(placement.Key{Kind: "other", ID: "1"}, start); err != nil {
		t.Errorf("after the news of b#1: %v", err)
	}
	c.OnMemberLeft(second.Owner, start)
	if out, err := c.Resolve(placement.Key{Kind: "other", ID: "1"}, start); err == nil {
		t.Errorf("after the news of b#2: %+v", out.Resolution)
	}
	if c.OnMemberLeft(placement.Owner{Name: "a", Incarnation: 2}, start); c.State() != placement.StateMember {
		t.Errorf("after the news of another incarnation of its own: %v", c.State())
	}
	if c.OnMemberLeft(placement.Owner{Name: "a", Incarnation: 1}, start); c.State() != placement.StateStopped {
		t.Errorf("after the news of its own end: %v", c.State())
	}
}

func TestExplain(t *testing.T) {
	c := newMember(t)
	if e := c.Explain(placement.Key{}, start); e.Err == nil {
		t.Error("an invalid key is explained")
	}
	draining, other := member("c"), member("d")
	draining.Draining, other.Kinds = true, []string{"other"}
	ok(t)(c.UpdateTopology(placement.Topology{Version: 2, Members: []placement.Member{draining, other, member("b"), member("a")}}, start))
	key := keyOf(c, selfA)
	activate(t, c, key, 7, start)
	e := c.Explain(key, start.Add(time.Minute))
	if e.Topology != 2 || e.State != placement.StateMember || e.Strategy != "rendezvous" || e.Err != nil || e.Decision.Authority != selfA {
		t.Errorf("%+v", e)
	}
	if e.Active == nil || e.Active.Epoch != 7 || e.Active.PID != "p" || e.Active.Topology != 2 || e.Active.Idle != time.Minute {
		t.Errorf("active %+v", e.Active)
	}
	want := []placement.Candidate{
		{Owner: selfA, Address: "a:1", Eligible: true, Reason: "chosen", Score: placement.Hash("a", key)},
		{Owner: placement.Owner{Name: "b", Incarnation: 1}, Address: "b:1", Eligible: true, Score: placement.Hash("b", key)},
		{Owner: placement.Owner{Name: "c", Incarnation: 1}, Address: "c:1", Reason: "it is draining"},
		{Owner: placement.Owner{Name: "d", Incarnation: 1}, Address: "d:1", Reason: "it does not activate the kind"},
	}
	for i := range want {
		if len(e.Candidates) != len(want) || e.Candidates[i] != want[i] {
			t.Fatalf("candidates %+v, want %+v", e.Candidates, want)
		}
	}
	if want[0].Score <= want[1].Score {
		t.Error("the member that was chosen has not the greatest score")
	}
}

func TestExplainPendingAndCached(t *testing.T) {
	c := newMember(t)
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	key := keyOf(c, selfA)
	claim(t, c, key, start)
	if e := c.Explain(key, start); e.Pending == nil || e.Pending.Step != "acquire" || e.Pending.Waiters != 1 || e.Active != nil {
		t.Errorf("pending %+v", e.Pending)
	}
	there := placement.Key{Kind: "k", ID: "there"}
	h := placement.Holder{Owner: placement.Owner{Name: "b", Incarnation: 1}, Address: "b:1", Epoch: 3}
	c.Learn(there, h, start)
	if e := c.Explain(there, start); e.Location == nil || *e.Location != h {
		t.Errorf("location %+v, want %+v", e.Location, h)
	}
	if e := c.Explain(placement.Key{Kind: "unknown", ID: "1"}, start); !errors.Is(e.Err, placement.ErrNoMember) || len(e.Candidates) != 2 || e.Candidates[0].Eligible {
		t.Errorf("%+v", e)
	}
	fresh, err := NewCoordinator(Options{Self: selfA})
	if err != nil {
		t.Fatal(err)
	}
	if e := fresh.Explain(key, start); !errors.Is(e.Err, placement.ErrNotReady) || e.State != placement.StateStopped {
		t.Errorf("%+v", e)
	}
}

// A claim that a home executes once more, late, when its request has been
// answered and its lock was released: the activation stays in use, and the lock is given back.
func TestLateLeaseLeavesActivation(t *testing.T) {
	c, key := newMember(t), placement.Key{Kind: "k", ID: "1"}
	first := activateLapsing(t, c, key, 7)
	late := Lease{Key: key, Owner: placement.Owner{Name: "a", Incarnation: 1}, Request: first, Epoch: 9}
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
func activateLapsing(t *testing.T, c *Coordinator, key placement.Key, epoch int64) placement.RequestID {
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
	c, key := newMember(t), placement.Key{Kind: "k", ID: "1"}
	self := placement.Holder{Owner: placement.Owner{Name: "a", Incarnation: 1}, Epoch: 5}
	r := only[Release](t, c.Forget(key, self, start))
	if r.Lease.Epoch != 5 || r.Lease.Owner != self.Owner {
		t.Errorf("%+v, want the release of epoch 5", r)
	}
	if out := c.Forget(key, self, start); len(out.Commands) > 0 {
		t.Errorf("told again while the first command runs: %v", out.Commands)
	}
	out, err := c.HandleCommandResult(LockReleased{RequestID: r.RequestID, Key: key, Epoch: 5, Err: placement.ErrStale}, start)
	m := only[RemoveActivation](t, ok(t)(out, err))
	if m.Epoch != 5 || m.Owner != self.Owner {
		t.Errorf("%+v, want the removal of epoch 5", m)
	}
	out, err = c.HandleCommandResult(ActivationRemoved{RequestID: m.RequestID, Key: key, Epoch: 5, Err: placement.ErrUnavailable}, start)
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
	c, key := newMember(t), placement.Key{Kind: "k", ID: "1"}
	out, err := c.Resolve(key, start)
	only[TryAcquire](t, ok(t)(out, err))
	if out := c.Forget(key, placement.Holder{Owner: placement.Owner{Name: "a", Incarnation: 1}, Epoch: 5}, start); len(out.Commands) > 0 {
		t.Errorf("while it is claimed: %v", out.Commands)
	}
	c = newMember(t)
	activate(t, c, key, 7, start)
	if out := c.Forget(key, placement.Holder{Owner: placement.Owner{Name: "a", Incarnation: 1}, Epoch: 7}, start); len(out.Commands) > 0 {
		t.Errorf("while it is in use: %v", out.Commands)
	}
	if _, err := c.Stop(start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(key, start); !errors.Is(err, placement.ErrStopped) {
		t.Error(err)
	}
	if out := c.Forget(placement.Key{Kind: "k", ID: "2"}, placement.Holder{Owner: placement.Owner{Name: "a", Incarnation: 1}, Epoch: 5}, start); len(out.Commands) > 0 {
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
	again := only[TryAcquire](t, removed(t, c, remove, placement.ErrUnavailable, start))
	made := only[EnsureActivation](t, grant(t, c, again, lease(again, 2), start))
	out := store(t, c, only[StoreActivation](t, ensure(t, c, made, start)), nil, start)
	if a := answer(t, out); a.Request != waits || a.Resolution.Epoch != 2 {
		t.Errorf("answer %+v, want epoch 2 for request %d", a, waits)
	}
	only[RemoveActivation](t, c.Tick(start.Add(time.Minute))) // of epoch 1, still
}

// An executor refuses to end an activation for idleness, then it must end all the
// same, and the refusal arrives a second time, before the end: it does not count as the end.
func TestRefusalTwiceIsNoEnd(t *testing.T) {
	c, key := newMember(t), placement.Key{Kind: "k", ID: "1"}
	activateLapsing(t, c, key, 7)
	later := start.Add(time.Hour)
	idle := only[Deactivate](t, c.PassivateIdle(later, time.Minute))
	if out, err := c.Stop(later); err != nil || len(out.Commands) > 0 {
		t.Fatalf("%+v, %v, want nothing before the end that is under way", out, err)
	}
	refusal := ActivationDeactivated{RequestID: idle.RequestID, Key: key, Epoch: 7, UsedAt: later}
	out, err := c.HandleCommandResult(refusal, later)
	if d := only[Deactivate](t, ok(t)(out, err)); d.Cause != placement.CauseStop {
		t.Errorf("%+v, want an end that cannot be refused", d)
	}
	if out, err = c.HandleCommandResult(refusal, later); err != nil || len(out.Commands) > 0 {
		t.Errorf("%+v, %v, want nothing: the activation has not ended", out, err)
	}
	refusal.UsedAt = time.Time{}
	out, err = c.HandleCommandResult(refusal, later)
	only[RemoveActivation](t, ok(t)(out, err))
}
