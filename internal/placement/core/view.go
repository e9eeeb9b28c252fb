// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/placement"
)

// view is a topology as decisions need it.
type view struct {
	version int64
	members []placement.Member // by name
	index   map[string]int     // of members, by name
	kinds   map[string]placement.Candidates
}

// newView makes the view of a topology, without the members that have left.
func newView(t placement.Topology, self placement.Owner) *view {
	v := &view{version: t.Version, members: slices.Clone(t.Members), index: make(map[string]int, len(t.Members)), kinds: map[string]placement.Candidates{}}
	slices.SortFunc(v.members, func(a, b placement.Member) int { return strings.Compare(a.Name, b.Name) })
	byKind := map[string][]placement.Member{}
	for i, m := range v.members {
		v.index[m.Name] = i
		if m.Draining {
			continue
		}
		for _, kind := range m.Kinds {
			byKind[kind] = append(byKind[kind], m)
		}
	}
	for kind, members := range byKind {
		v.kinds[kind] = placement.NewCandidates(members, self, t.Version)
	}
	return v
}

// liveness is what a view says about an owner.
type liveness uint8

const (
	unknown liveness = iota // it may be newer than the topology
	alive
	dead
)

// liveness reports whether an owner that acted by the topology of version seen is
// alive. One that the view does not list is dead if it was seen by the view's
// version or an older one, because members that join later act by newer ones.
func (v *view) liveness(o placement.Owner, seen int64) liveness {
	i, listed := v.index[o.Name]
	switch {
	case listed && v.members[i].Incarnation == o.Incarnation:
		return alive
	case listed && v.members[i].Incarnation > o.Incarnation:
		return dead
	case seen > 0 && seen <= v.version:
		return dead
	}
	return unknown
}

// isAlive reports whether the view lists an owner.
func (v *view) isAlive(o placement.Owner) bool { return v.liveness(o, 0) == alive }

// addressOf returns the address of a member, empty if it is not listed.
func (v *view) addressOf(o placement.Owner) string {
	if i, listed := v.index[o.Name]; listed && v.members[i].Owner == o {
		return v.members[i].Address
	}
	return ""
}

// lackReason returns why there is no candidate for a kind.
func (v *view) lackReason(kind string) string {
	draining := 0
	for _, m := range v.members {
		if slices.Contains(m.Kinds, kind) {
			draining++
		}
	}
	if draining > 0 {
		return fmt.Sprintf("all %d members that activate the kind are draining", draining)
	}
	return fmt.Sprintf("none of the %d members activates the kind", len(v.members))
}
