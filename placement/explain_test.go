// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"
	"time"
)

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
