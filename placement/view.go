// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"
)

// view is a topology as decisions need it.
type view struct {
	version int64
	members []Member       // by name
	index   map[string]int // of members, by name
	kinds   map[string]Candidates
}

// newView makes the view of a topology, without the members that have left.
func newView(t Topology, self Owner) *view {
	v := &view{version: t.Version, members: slices.Clone(t.Members), index: make(map[string]int, len(t.Members)), kinds: map[string]Candidates{}}
	slices.SortFunc(v.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range v.members {
		v.index[m.Name] = i
		if !m.Draining {
			v.addCandidate(m, self)
		}
	}
	return v
}

func (v *view) addCandidate(m Member, self Owner) {
	hash := memberHash(m.Name)
	for _, kind := range m.Kinds {
		c, known := v.kinds[kind]
		if !known {
			c = Candidates{Self: -1, Topology: v.version}
		}
		if m.Owner == self {
			c.Self = len(c.Members)
		}
		c.Members, c.hashes = append(c.Members, m), append(c.hashes, hash)
		v.kinds[kind] = c
	}
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
func (v *view) liveness(o Owner, seen int64) liveness {
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
func (v *view) isAlive(o Owner) bool { return v.liveness(o, 0) == alive }

// addressOf returns the address of a member, empty if it is not listed.
func (v *view) addressOf(o Owner) string {
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
