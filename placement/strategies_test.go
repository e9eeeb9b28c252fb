// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

func members(n int) placement.Candidates {
	c := placement.Candidates{Self: -1, Topology: 1}
	for i := range n {
		c.Members = append(c.Members, placement.Member{Owner: placement.Owner{Name: fmt.Sprintf("m%02d", i), Incarnation: 1}})
	}
	return c
}

func keyOf(i int) placement.Key { return placement.Key{Kind: "k", ID: fmt.Sprint(i)} }

func TestLocalFirst(t *testing.T) {
	c := members(5)
	want := placement.Rendezvous{}.Choose(keyOf(1), c)
	if got := (placement.LocalFirst{}).Choose(keyOf(1), c); got != want {
		t.Errorf("a client chooses %d, want that of rendezvous hashing, %d", got, want)
	}
	for c.Self = range 5 {
		if got := (placement.LocalFirst{}).Choose(keyOf(1), c); got != c.Self {
			t.Errorf("member %d chooses %d", c.Self, got)
		}
	}
}

func TestRandom(t *testing.T) {
	c := members(10)
	counts, moved := make([]int, 10), 0
	for i := range 10_000 {
		c.Topology = 1
		was := placement.Random{}.Choose(keyOf(i), c)
		if (placement.Random{}).Choose(keyOf(i), c) != was {
			t.Fatal("two members with the same topology disagree")
		}
		counts[was]++
		c.Topology = 2
		if (placement.Random{}).Choose(keyOf(i), c) != was {
			moved++
		}
	}
	for i, n := range counts {
		if n < 850 || n > 1150 { // five standard deviations
			t.Errorf("member %d has %d of 10,000 keys", i, n)
		}
	}
	if moved < 8850 || moved > 9150 {
		t.Errorf("under another version %d of 10,000 keys have another member, want about 9,000", moved)
	}
	if (placement.Random{Seed: 1}).Choose(keyOf(1), c) == (placement.Random{Seed: 2}).Choose(keyOf(1), c) && (placement.Random{Seed: 1}).Choose(keyOf(2), c) == (placement.Random{Seed: 3}).Choose(keyOf(2), c) &&
		(placement.Random{Seed: 1}).Choose(keyOf(3), c) == (placement.Random{Seed: 4}).Choose(keyOf(3), c) {
		t.Error("the seed does not matter")
	}
}

// TestLeastLoaded places keys one by one, with loads that are told at once: two
// choices keep the members nearly equal, as the theory has it.
func TestLeastLoaded(t *testing.T) {
	c := members(10)
	for i := range 10_000 {
		c.Members[placement.LeastLoaded{}.Choose(keyOf(i), c)].Load++
	}
	for _, m := range c.Members {
		if m.Load < 980 || m.Load > 1020 {
			t.Errorf("%s has %d of 10,000 keys", m.Name, m.Load)
		}
	}
	c = members(4)
	for i := range c.Members {
		c.Members[i].Load = int64(10 - i)
	}
	for i := range 50 {
		if got := (placement.LeastLoaded{Choices: -1}).Choose(keyOf(i), c); got != 3 {
			t.Errorf("of all members it chooses %d, want the least loaded, 3", got)
		}
	}
}

func TestLabelFilter(t *testing.T) {
	c := members(6)
	for i := range c.Members {
		c.Members[i].Labels = map[string]string{"role": []string{"front", "back"}[i%2], "zone": []string{"x", "y", "z"}[i%3]}
	}
	c.Self = 3
	s := placement.LabelFilter{Require: map[string]map[string]string{"k": {"role": "back", "zone": "y"}, "none": {"role": "absent"}}}
	for i := range 100 {
		if got := s.Choose(keyOf(i), c); got != 1 {
			t.Fatalf("it chooses %d; only 1 has the labels", got)
		}
	}
	if got := s.Choose(placement.Key{Kind: "none", ID: "1"}, c); got != -1 {
		t.Errorf("no member has the label, and it chooses %d", got)
	}
	free := placement.Key{Kind: "free", ID: "1"}
	if got, want := s.Choose(free, c), (placement.Rendezvous{}).Choose(free, c); got != want {
		t.Errorf("a kind without labels: %d, want %d", got, want)
	}
	local := placement.LabelFilter{Require: map[string]map[string]string{"k": {"role": "back"}}, Then: placement.LocalFirst{}}
	if got := local.Choose(keyOf(1), c); got != 3 {
		t.Errorf("local first among those of the role: %d, want 3", got)
	}
	if !s.Rebalances() || local.Rebalances() {
		t.Error("it rebalances if the strategy that chooses does")
	}
	if want := "labelled (k needs role=back; k needs zone=y; none needs role=absent), rendezvous"; s.Name() != want {
		t.Errorf("name %q, want %q", s.Name(), want)
	}
}

// An activation stays where it is under a strategy that does not rebalance, and
// moves if the member may not have it any more.
func ExampleLabelFilter() {
	s := placement.LabelFilter{
		Require: map[string]map[string]string{"report": {"role": "batch"}},
		Then:    placement.LeastLoaded{},
	}
	c := placement.Candidates{Self: -1, Members: []placement.Member{
		{Owner: placement.Owner{Name: "a", Incarnation: 1}, Labels: map[string]string{"role": "batch"}, Load: 7},
		{Owner: placement.Owner{Name: "b", Incarnation: 1}, Labels: map[string]string{"role": "web"}},
		{Owner: placement.Owner{Name: "c", Incarnation: 1}, Labels: map[string]string{"role": "batch"}, Load: 2},
	}}
	fmt.Println(c.Members[s.Choose(placement.Key{Kind: "report", ID: "2026"}, c)].Name)
	// Output: c
}
