// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// leader takes the member of a name, if it is there, and else the first. It does not rebalance.
type leader struct{ name string }

func (leader) Name() string { return "leader" }

func (l *leader) Choose(_ Key, c Candidates) int {
	for i, m := range c.Members {
		if m.Name == l.name {
			return i
		}
	}
	return 0
}

// picky takes no other member than one of a name.
type picky struct{ leader }

func (p *picky) Choose(key Key, c Candidates) int {
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
	if r := ok(t)(c.Resolve(Key{"k", "new"}, start)).Resolution; r == nil || r.Owner.Name != "b" {
		t.Errorf("a new key: %+v, want b", r)
	}
	draining := topology(3, "a", "b")
	draining.Members[0].Draining = true
	ok(t)(c.UpdateTopology(draining, start))
	if d := only[Deactivate](t, ok(t)(c.Resolve(key1, start))); d.Cause != CauseMove {
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
	if _, err := c.Resolve(Key{"k", "new"}, start); err == nil {
		t.Error("a strategy that takes no member places a key")
	}
}

// A choice that is not a member is an error, not a crash.
type wild struct{ leader }

func (wild) Choose(Key, Candidates) int { return 99 }

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
		activate(t, c, Key{"k", string(rune('a' + i))}, 1, start)
	}
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	toB := 0
	for i := range 20 {
		if d, err := c.decideAuthority(Key{"k", string(rune('a' + i))}); err == nil && d.Authority.Name == "b" {
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
		activate(t, c, Key{"k", string(rune(i + 0x10000))}, 1, start)
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
		activate(t, c, Key{"k", string(rune(i + 0x10000))}, 1, start)
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

// candidates returns members of these names, by name.
func candidates(names ...string) Candidates {
	c := Candidates{Self: -1}
	for _, name := range names {
		c.Members = append(c.Members, member(name))
	}
	return c
}

func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	slices.Sort(names)
	return names
}

// TestSpread checks the promise of Rendezvous: 50 members, 100,000 keys, none has
// more than 1.06 of the mean, or less than 0.94, whatever names and keys look like.
func TestSpread(t *testing.T) {
	const members, keys = 50, 100_000
	for _, names := range []string{"node-%d", "10.0.0.%d:7000", "%02d", "bank-%d.bank.svc.cluster.local"} {
		for _, ids := range []string{"%d", "user-%08d", "%x", "0000000000000000-%d"} {
			c := newView(topology(1, numbered(names, members)...), selfA).kinds["k"]
			counts := make([]int, members)
			for i := range keys {
				counts[Rendezvous{}.Choose(Key{Kind: "account", ID: fmt.Sprintf(ids, i)}, c)]++
			}
			least, most := float64(slices.Min(counts))*members/keys, float64(slices.Max(counts))*members/keys
			if most > 1.06 || least < 0.94 {
				t.Errorf("members %s, keys %s: %.3f to %.3f of the mean, want 0.94 to 1.06", names, ids, least, most)
			}
			t.Logf("members %s, keys %s: %.3f to %.3f of the mean", names, ids, least, most)
		}
	}
}

// TestMovement checks that a member that joins takes its share, and that no key
// moves between two others; and the same backwards for one that leaves.
func TestMovement(t *testing.T) {
	const keys = 20_000
	names := numbered("node-%02d", 11)
	before, after := candidates(slices.Delete(slices.Clone(names), 5, 6)...), candidates(names...)
	moved := 0
	for i := range keys {
		key := Key{Kind: "k", ID: fmt.Sprint(i)}
		was := before.Members[Rendezvous{}.Choose(key, before)].Name
		is := after.Members[Rendezvous{}.Choose(key, after)].Name
		if was != is {
			moved++
			if is != "node-05" {
				t.Fatalf("%s moves from %s to %s, and node-05 joined", key, was, is)
			}
		}
	}
	if share := float64(moved) * 11 / keys; share < 0.9 || share > 1.1 {
		t.Errorf("%d of %d keys move, %.2f of a share", moved, keys, share)
	}
}

// TestHashIsPinned fails if the hash changes: members of different versions
// would disagree on where every key belongs.
func TestHashIsPinned(t *testing.T) {
	for _, test := range []struct {
		member string
		key    Key
		hash   uint64
	}{
		{"", Key{}, 0x8f9a18b0ac9782c},
		{"a", Key{"k", "1"}, 0xbd5f8045c296c076},
		{"a", Key{"k1", ""}, 0x11ac2debbcce1ada},
		{"node-1", Key{"account", "alice"}, 0x46fab7d9749501f5},
		{"node-2", Key{"account", "alice"}, 0xc85d75a51c43c68},
		{"10.0.0.1:7000", Key{"口座", "花子/1"}, 0xae027f3a75968ebb},
	} {
		if got := Hash(test.member, test.key); got != test.hash {
			t.Errorf("Hash(%q, %v) = %#x, want %#x", test.member, test.key, got, test.hash)
		}
	}
	c := candidates("a", "b", "c", "d", "e")
	var chosen []byte
	for i := range 40 {
		chosen = append(chosen, c.Members[Rendezvous{}.Choose(Key{"k", fmt.Sprint(i)}, c)].Name...)
	}
	if want := "ecddbbeaeaadcbbdcdcdadbbaebcdcabebdaacde"; string(chosen) != want {
		t.Errorf("keys 0 to 39 belong to %s, want %s", chosen, want)
	}
}

// The coordinator gives Rendezvous the hashes of the members. They must be the
// same as without.
func TestPreparedHashes(t *testing.T) {
	v := newView(topology(1, numbered("m%d", 17)...), selfA)
	prepared := v.kinds["k"]
	if len(prepared.hashes) != 17 {
		t.Fatalf("%d hashes are prepared", len(prepared.hashes))
	}
	plain := prepared
	plain.hashes = nil
	for i := range 1000 {
		key := Key{"k", fmt.Sprint(i)}
		got := Rendezvous{}.Choose(key, prepared)
		if want := (Rendezvous{}).Choose(key, plain); got != want {
			t.Fatalf("%s: %d with prepared hashes, %d without", key, got, want)
		}
		if (Rendezvous{}).Score(key, prepared, got) != Hash(prepared.Members[got].Name, key) {
			t.Fatalf("the score of %s is not its hash", key)
		}
	}
}

func TestHashIsReplaceable(t *testing.T) {
	length := func(member string, _ Key) uint64 { return uint64(len(member)) }
	c := candidates("a", "bbb", "cc", "ddd")
	if i := (Rendezvous{Hash: length}).Choose(key1, c); i != 1 {
		t.Errorf("it chooses %d, want the first of the greatest hash, 1", i)
	}
	if s := (Rendezvous{Hash: length}).Score(key1, c, 2); s != 2 {
		t.Errorf("score %d, want 2", s)
	}
}
