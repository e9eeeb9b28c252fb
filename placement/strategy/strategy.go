// SPDX-License-Identifier: Apache-2.0

// Package strategy has strategies of placement besides rendezvous hashing. Each can
// have another strategy, which chooses if it has no preference.
package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/placement"
)

// otherwise returns the strategy that chooses where another has no preference:
// rendezvous hashing by default.
func otherwise(s placement.Strategy) placement.Strategy {
	if s == nil {
		return placement.Rendezvous{}
	}
	return s
}

// LocalFirst takes the member that resolves the key, if it can activate it: for
// keys that are used where they were used first. Members disagree on the authority; the claim tells
// them the holder of the key. An activation stays where it is.
type LocalFirst struct {
	Otherwise placement.Strategy // for clients and members that cannot activate the key; nil: rendezvous hashing
}

// Name implements [placement.Strategy].
func (s LocalFirst) Name() string { return "local first, " + otherwise(s.Otherwise).Name() }

// Choose implements [placement.Strategy].
func (s LocalFirst) Choose(key placement.Key, c placement.Candidates) int {
	if c.Self >= 0 {
		return c.Self
	}
	return otherwise(s.Otherwise).Choose(key, c)
}

// Random takes a member by a hash of the key and the version of the topology:
// keys that are activated under one version are spread evenly, independently of where they
// were before. Members with the same topology agree. An activation stays where it is.
type Random struct {
	Seed uint64 // all members of a cluster use the same
}

// Name implements [placement.Strategy].
func (Random) Name() string { return "random" }

// Choose implements [placement.Strategy].
func (s Random) Choose(key placement.Key, c placement.Candidates) int {
	h := placement.Hash(string(seedBytes(s.Seed, uint64(c.Topology))), key)
	return int(h % uint64(len(c.Members)))
}

func seedBytes(numbers ...uint64) []byte {
	var b []byte
	for _, n := range numbers {
		for range 8 {
			b = append(b, byte(n))
			n >>= 8
		}
	}
	return b
}

// LeastLoaded takes, of the Choices members with the greatest rendezvous hashes,
// the one with the least load (Mitzenmacher, "The Power of Two Choices in
// Randomized Load Balancing", 2001). Of all members it would be the same one for all keys
// until loads are told anew. Members agree if their topologies list the same loads. An
// activation stays where it is.
type LeastLoaded struct {
	Choices int // 0: 2; of more, or a negative number, all members are compared
}

// Name implements [placement.Strategy].
func (LeastLoaded) Name() string { return "least loaded" }

// Choose implements [placement.Strategy].
func (s LeastLoaded) Choose(key placement.Key, c placement.Candidates) int {
	best := -1
	for _, i := range s.rankMembers(key, c) {
		if best < 0 || c.Members[i].Load < c.Members[best].Load {
			best = i
		}
	}
	return best
}

// rankMembers returns the members to choose from, the one with the greatest hash first.
func (s LeastLoaded) rankMembers(key placement.Key, c placement.Candidates) []int {
	hashes := make([]uint64, len(c.Members))
	order := make([]int, len(c.Members))
	for i := range c.Members {
		order[i], hashes[i] = i, placement.Rendezvous{}.Score(key, c, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if hashes[a] > hashes[b] {
			return -1
		} else if hashes[a] < hashes[b] {
			return 1
		}
		return 0
	})
	choices := s.Choices
	if choices == 0 {
		choices = 2
	}
	if choices < 0 || choices > len(order) {
		return order
	}
	return order[:choices]
}

// LabelFilter restricts kinds to members with labels, such as a role or a zone, and lets
// another strategy choose among them. If no member has the labels of a kind, its keys are
// not placed.
type LabelFilter struct {
	// Require has the labels, with their values, that a member needs for a kind.
	// Kinds that are not in it are not restricted.
	Require map[string]map[string]string
	// Then chooses among the members that have the labels; nil: rendezvous hashing.
	Then placement.Strategy
}

// Name implements [placement.Strategy]. It tells the labels in order.
func (s LabelFilter) Name() string {
	var rules []string
	for _, kind := range slices.Sorted(maps.Keys(s.Require)) {
		for _, label := range slices.Sorted(maps.Keys(s.Require[kind])) {
			rules = append(rules, fmt.Sprintf("%s needs %s=%s", kind, label, s.Require[kind][label]))
		}
	}
	return fmt.Sprintf("labelled (%s), %s", strings.Join(rules, "; "), otherwise(s.Then).Name())
}

// Rebalances implements [placement.Rebalancer]: as the strategy that chooses.
func (s LabelFilter) Rebalances() bool {
	r, ok := otherwise(s.Then).(placement.Rebalancer)
	return ok && r.Rebalances()
}

// Choose implements [placement.Strategy].
func (s LabelFilter) Choose(key placement.Key, c placement.Candidates) int {
	required := s.Require[key.Kind]
	if len(required) == 0 {
		return otherwise(s.Then).Choose(key, c)
	}
	few, at := restrict(c, required)
	if len(few.Members) == 0 {
		return -1
	}
	if i := otherwise(s.Then).Choose(key, few); i >= 0 && i < len(at) {
		return at[i]
	}
	return -1
}

// restrict returns the candidates with the labels, and the index of each among all.
func restrict(c placement.Candidates, required map[string]string) (few placement.Candidates, at []int) {
	few = placement.Candidates{Self: -1, Topology: c.Topology}
	for i, m := range c.Members {
		if !has(m.Labels, required) {
			continue
		}
		if i == c.Self {
			few.Self = len(at)
		}
		few.Members, at = append(few.Members, m), append(at, i)
	}
	return few, at
}

func has(labels, required map[string]string) bool {
	for label, value := range required {
		if found, ok := labels[label]; !ok || found != value {
			return false
		}
	}
	return true
}
