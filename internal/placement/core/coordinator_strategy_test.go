// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// leader takes the member of a name, if it is there, and else the first. It does not rebalance.
type leader struct{ name string }

func (leader) Name() string { return "leader" }

func (l *leader) Choose(_ placement.Key, c placement.Candidates) int {
	for i, m := range c.Members {
		if m.Name == l.name {
			return i
		}
	}
	return 0
}

// picky takes no other member than one of a name.
type picky struct{ leader }

func (p *picky) Choose(key placement.Key, c placement.Candidates) int {
	if i := p.leader.Choose(key, c); c.Members[i].Name == p.name {
		return i
	}
	return -1
}

// With a strategy that does not rebalance, activations stay where they are, for as
// long as the member may have them.
func TestStaysWithoutRebalancing(t *testing.T) {
	s := &leader{name: "a"}
	c := newMember(t, func(o *Options) { o.Strategy = s })
	activate(t, c, key1, 1, start)
	s.name = "b"
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	if !isLocal(t, c, key1, 1, start) {
		t.Error("it moves, though the strategy does not rebalance")
	}
	if r := ok(t)(c.Resolve(placement.Key{Kind: "k", ID: "new"}, start)).Resolution; r == nil || r.Owner.Name != "b" {
		t.Errorf("a new key: %+v, want b", r)
	}
	draining := topology(3, "a", "b")
	draining.Members[0].Draining = true
	ok(t)(c.UpdateTopology(draining, start))
	if d := only[Deactivate](t, ok(t)(c.Resolve(key1, start))); d.Cause != placement.CauseMove {
		t.Errorf("%+v; a member that is to leave must not keep it", d)
	}
}

// It moves if the strategy does not take the member any more, for its labels say.
func TestMovesIfNotTaken(t *testing.T) {
	s := &picky{leader{name: "a"}}
	c := newMember(t, func(o *Options) { o.Strategy = s })
	activate(t, c, key1, 1, start)
	s.name = "b"
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	only[Deactivate](t, ok(t)(c.Resolve(key1, start)))
	s.name = "nobody"
	if _, err := c.Resolve(placement.Key{Kind: "k", ID: "new"}, start); err == nil {
		t.Error("a strategy that takes no member places a key")
	}
}

// A choice that is not a member is an error, not a crash.
type wild struct{ leader }

func (wild) Choose(placement.Key, placement.Candidates) int { return 99 }

func TestWildStrategy(t *testing.T) {
	c := newMember(t, func(o *Options) { o.Strategy = wild{} })
	if _, err := c.Resolve(key1, start); err == nil {
		t.Error("the choice 99 of 1 member is taken")
	}
}

// Moves in ticks are bounded, and a tick does not look at all activations.
func TestMovesPerTick(t *testing.T) {
	c := newMember(t, func(o *Options) { o.MovesPerTick = 3 })
	for i := range 20 {
		activate(t, c, placement.Key{Kind: "k", ID: string(rune('a' + i))}, 1, start)
	}
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	toB := 0
	for i := range 20 {
		if d, err := c.decideAuthority(placement.Key{Kind: "k", ID: string(rune('a' + i))}); err == nil && d.Authority.Name == "b" {
			toB++
		}
	}
	var moved []int
	for range 10 {
		moved = append(moved, len(c.Tick(start).Commands))
	}
	sum := 0
	for i, n := range moved {
		if sum += n; n > 3 || n < 3 && sum < toB {
			t.Errorf("tick %d moves %d: %v", i, n, moved)
		}
	}
	if toB < 4 || sum != toB {
		t.Errorf("%d moved, %d belong to b", sum, toB)
	}
}

// A clock that is set back delays nothing by more than the time that it repeats.
func TestClockSetBack(t *testing.T) {
	c := newMember(t)
	claim(t, c, key1, start)
	none(t, c.Tick(start.Add(6*time.Second)))
	none(t, c.Tick(start.Add(-time.Hour)))
	if out := c.Tick(start.Add(-time.Hour + 3*time.Second)); len(out.Answers) > 0 {
		t.Errorf("answers %+v after nine seconds", out.Answers)
	}
	answer(t, c.Tick(start.Add(-time.Hour+4*time.Second)))
}

// A stop of very many activations is begun in parts.
func TestStopInParts(t *testing.T) {
	c := newMember(t)
	for i := range endsPerCall + 50 {
		activate(t, c, placement.Key{Kind: "k", ID: string(rune(i + 0x10000))}, 1, start)
	}
	out := ok(t)(c.Stop(start))
	if len(out.Commands) != endsPerCall {
		t.Fatalf("%d commands at once, want %d", len(out.Commands), endsPerCall)
	}
	for todo := append([]Command(nil), out.Commands...); len(todo) > 0; todo = todo[1:] {
		switch cmd := todo[0].(type) {
		case Deactivate:
			out = ended(t, c, cmd, start)
		case RemoveActivation:
			out = removed(t, c, cmd, nil, start)
		}
		todo = append(todo, out.Commands...)
	}
	if c.Held() != 0 {
		t.Errorf("%d are held", c.Held())
	}
}

// A resolve of an active key allocates nothing, even under a newer topology.
func TestResolveActiveAllocates(t *testing.T) {
	c := newMember(t)
	activate(t, c, key1, 1, start)
	version := int64(1)
	if n := testing.AllocsPerRun(100, func() { c.Resolve(key1, start) }); n > 0 {
		t.Errorf("%v allocations of a resolve", n)
	}
	many, few := allocsOfTopology(t, 20_000, &version), allocsOfTopology(t, 2, &version)
	if many > few+5 {
		t.Errorf("a topology change allocates %v times with 20,000 activations, %v with 2", many, few)
	}
}

func allocsOfTopology(t *testing.T, active int, version *int64) float64 {
	c := newMember(t)
	for i := range active {
		activate(t, c, placement.Key{Kind: "k", ID: string(rune(i + 0x10000))}, 1, start)
	}
	return testing.AllocsPerRun(10, func() {
		*version++
		ok(t)(c.UpdateTopology(topology(*version, "a", "b"), start))
	})
}

// nameless is a strategy that tells its name once, and then panics.
type nameless struct {
	leader
	asked *int
}

func (s *nameless) Name() string {
	if *s.asked++; *s.asked > 1 {
		panic("it has no name")
	}
	return "nameless"
}

// TestStrategyTellsItsNameOnce: the name of a strategy is code of the program, which resolves do not
// call.
func TestStrategyTellsItsNameOnce(t *testing.T) {
	s := &nameless{asked: new(int)}
	c := newMember(t, func(o *Options) { o.Strategy = s })
	ok(t)(c.Resolve(key1, start))
	if e := c.Explain(key1, start); e.Strategy != "nameless" || e.Decision.Strategy != "nameless" || *s.asked != 1 {
		t.Errorf("the strategy is called %q and %q, after %d questions", e.Strategy, e.Decision.Strategy, *s.asked)
	}
}
