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
		return fmt.Errorf("placement: topology %d: %w", t.Version, err)
	}
	return nil
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
// refuses: a process would refuse a whole topology that has such a member.
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
