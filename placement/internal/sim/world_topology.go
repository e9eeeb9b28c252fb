// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"

	"github.com/kazahana-db/kazahana/placement"
)

// pushTopology sends the members of this instant to every process, each after its own
// latency, so that topologies overtake each other. Some are lost and some come twice.
func (w *world) pushTopology() {
	s := w.registry.read()
	for _, m := range w.machines {
		d := w.dice(aboutTopology, uint64(m.index), uint64(s.topology.Version))
		p := m.process
		if p == nil || d.chance(0.3) {
			continue
		}
		for range 1 + d.IntN(2) {
			p.after(w.latency(d), func() {
				if m.isolated == 0 {
					p.deliverTopology(s.topology)
				}
			})
		}
	}
}

// noteDeath tells the home that an owner is dead.
func (w *world) noteDeath(o placement.Owner) {
	w.tracef("%v is not a member any more", o)
	w.store.evictOwner(o)
}

// topologyFor is what a process is given for a topology. Mutations change it.
func (w *world) topologyFor(p *process, t placement.Topology) placement.Topology {
	switch w.mutation {
	case RenumberTopologies:
		p.versions++
		t.Version = p.versions
	case UnreachableIsDead:
		t.Members = slices.DeleteFunc(slices.Clone(t.Members), func(m placement.Member) bool {
			return p.machine.cut[w.byName[m.Name].index] > 0
		})
	}
	return t
}
