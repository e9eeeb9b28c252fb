// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits of what a [Member] tells of itself, in bytes.
const (
	MaxName  = 255  // of its name, and of its address
	MaxLabel = 1024 // of a label, and of its value
)

// Owner is one run of a member. A member that restarts keeps its name and gets
// another incarnation, which no run of that name has had before: what an earlier
// run owned does not belong to it.
type Owner struct {
	Name        string
	Incarnation int64 // 1 or more
}

// IsZero reports whether o is the zero Owner, which owns nothing.
func (o Owner) IsZero() bool { return o == Owner{} }

// String returns name#incarnation.
func (o Owner) String() string { return fmt.Sprintf("%s#%d", o.Name, o.Incarnation) }

// Member is a process that can hold activations. Values of a [Topology] must not
// be changed once it has been given away.
type Member struct {
	Owner
	Address  string            // where its transport listens
	Kinds    []string          // which kinds it activates
	Labels   map[string]string // for strategies: a role, a zone
	Draining bool              // it holds activations, but gets no new ones: it is about to leave
	Load     int64             // how many activations it had when it last told
}

// Topology is the set of members that are alive, as a version of it says. A
// member that is missing from a newer version is dead, not merely unreachable.
type Topology struct {
	Version int64    // 1 or more; a greater one is newer
	Members []Member // in any order, of different names
	// Cluster is a random id of the cluster, by which a process refuses calls that are meant for
	// another one. It is "" if the membership has none.
	Cluster string
}

// Validate reports all faults of the topology, joined.
func (t Topology) Validate() error {
	var faults []error
	if t.Version < 1 {
		faults = append(faults, errors.New("the version must be 1 or more"))
	}
	seen := make(map[string]int, len(t.Members))
	for i, m := range t.Members {
		if first, twice := seen[m.Name]; twice {
			faults = append(faults, fmt.Errorf("members %d and %d are both called %q (%s and %s)", first, i, clip(m.Name), m.Owner, t.Members[first].Owner))
		} else {
			seen[m.Name] = i
		}
		if err := m.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("member %d, %q: %w", i, clip(m.Name), err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return topologyError(t.Version, err)
	}
	return nil
}

func topologyError(version int64, err error) error {
	return fmt.Errorf("placement: topology %d: %w", version, err)
}

// Validate reports all faults of the owner, joined: its name has 1 to MaxName bytes of
// UTF-8 without NUL, and its incarnation is 1 or more.
func (o Owner) Validate() error {
	faults := []error{textFault("name", o.Name, MaxName)}
	if o.Incarnation < 1 {
		faults = append(faults, fmt.Errorf("the incarnation is %d; it must be 1 or more", o.Incarnation))
	}
	return errors.Join(faults...)
}

// Validate reports all faults of the member, joined. Homes and memberships refuse what it
// refuses: a coordinator would refuse a whole topology that has such a member.
func (m Member) Validate() error {
	faults := []error{m.Owner.Validate(), addressFault(m.Address), kindFaults(m.Kinds)}
	for _, label := range slices.Sorted(maps.Keys(m.Labels)) {
		faults = append(faults, textFault("label", label, MaxLabel))
		if value := m.Labels[label]; value != "" {
			faults = append(faults, textFault("value of label "+clip(label), value, MaxLabel))
		}
	}
	return errors.Join(faults...)
}

func kindFaults(kinds []string) error {
	var faults []error
	for i, kind := range kinds {
		switch {
		case strings.Contains(kind, "/"):
			faults = append(faults, fmt.Errorf("the kind %q contains %q", clip(kind), "/"))
		case slices.Contains(kinds[:i], kind):
			faults = append(faults, fmt.Errorf("the kind %q is there twice", clip(kind)))
		default:
			faults = append(faults, textFault("kind", kind, MaxKind))
		}
	}
	return errors.Join(faults...)
}

// addressFault says what is wrong with an address, which may be empty.
func addressFault(address string) error {
	if address == "" {
		return nil
	}
	return textFault("address", address, MaxName)
}

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
