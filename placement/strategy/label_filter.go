// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/placement"
)

// LabelFilter restricts kinds to members with labels, such as a role or a zone, and lets
// another strategy choose among them. A key of a kind whose labels no member has is
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
