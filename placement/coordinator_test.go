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

// The news that a member's earlier incarnation has left comes after the topology
// that lists the later one: that one stays.
func TestMemberLeftLate(t *testing.T) {
	c := newMember(t)
	second := Member{Owner: Owner{"b", 2}, Address: "b:1", Kinds: []string{"other"}}
	if _, err := c.UpdateTopology(Topology{Version: 2, Members: []Member{member("a"), second}}, start); err != nil {
		t.Fatal(err)
	}
	c.OnMemberLeft(Owner{"b", 1}, start)
	if _, err := c.Resolve(Key{"other", "1"}, start); err != nil {
		t.Errorf("after the news of b#1: %v", err)
	}
	c.OnMemberLeft(second.Owner, start)
	if out, err := c.Resolve(Key{"other", "1"}, start); err == nil {
		t.Errorf("after the news of b#2: %+v", out.Resolution)
	}
	if c.OnMemberLeft(Owner{"a", 2}, start); c.State() != StateMember {
		t.Errorf("after the news of another incarnation of its own: %v", c.State())
	}
	if c.OnMemberLeft(Owner{"a", 1}, start); c.State() != StateStopped {
		t.Errorf("after the news of its own end: %v", c.State())
	}
}

func TestExplain(t *testing.T) {
	c := newMember(t)
	if e := c.Explain(Key{}, start); e.Err == nil {
		t.Error("an invalid key is explained")
	}
	draining, other := member("c"), member("d")
	draining.Draining, other.Kinds = true, []string{"other"}
	ok(t)(c.UpdateTopology(Topology{Version: 2, Members: []Member{draining, other, member("b"), member("a")}}, start))
	key := keyOf(c, selfA)
	activate(t, c, key, 7, start)
	e := c.Explain(key, start.Add(time.Minute))
	if e.Topology != 2 || e.State != StateMember || e.Strategy != "rendezvous" || e.Err != nil || e.Decision.Authority != selfA {
		t.Errorf("%+v", e)
	}
	if e.Active == nil || e.Active.Epoch != 7 || e.Active.PID != "p" || e.Active.Topology != 2 || e.Active.Idle != time.Minute {
		t.Errorf("active %+v", e.Active)
	}
	want := []Candidate{
		{Owner: selfA, Address: "a:1", Eligible: true, Reason: "chosen", Score: Hash("a", key)},
		{Owner: Owner{"b", 1}, Address: "b:1", Eligible: true, Score: Hash("b", key)},
		{Owner: Owner{"c", 1}, Address: "c:1", Reason: "it is draining"},
		{Owner: Owner{"d", 1}, Address: "d:1", Reason: "it does not activate the kind"},
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
	there := Key{"k", "there"}
	h := Holder{Owner: Owner{"b", 1}, Address: "b:1", Epoch: 3}
	c.Learn(there, h, start)
	if e := c.Explain(there, start); e.Location == nil || *e.Location != h {
		t.Errorf("location %+v, want %+v", e.Location, h)
	}
	if e := c.Explain(Key{"unknown", "1"}, start); !errors.Is(e.Err, ErrNoMember) || len(e.Candidates) != 2 || e.Candidates[0].Eligible {
		t.Errorf("%+v", e)
	}
	fresh, err := NewCoordinator(Options{Self: selfA})
	if err != nil {
		t.Fatal(err)
	}
	if e := fresh.Explain(key, start); !errors.Is(e.Err, ErrNotReady) || e.State != StateStopped {
		t.Errorf("%+v", e)
	}
}
