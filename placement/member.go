// SPDX-License-Identifier: Apache-2.0

package placement

import "fmt"

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
}
