// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"go.etcd.io/raft/v3"
)

// nemesis injects faults until it is stopped.
type nemesis struct {
	world *world
	over  bool
}

// nemesisEvery is the mean time between two of its acts.
const nemesisEvery = 60 * time.Millisecond

func (n *nemesis) start() {
	n.world.After(n.world.between(0, 2*nemesisEvery), func() {
		if !n.over {
			n.injectFault()
			n.start()
		}
	})
}

func (n *nemesis) injectFault() {
	w, p := n.world, n.pickVictim()
	switch w.random.IntN(12) {
	case 0, 1:
		n.partition()
	case 2, 3:
		w.network.heal()
	case 4:
		p.crash()
	case 5, 6: // in the middle of its next action
		p.fuse = 1 + w.random.IntN(8)
	case 7:
		p.pause(w.between(time.Millisecond, 800*time.Millisecond), false)
	case 8:
		p.pause(w.between(time.Millisecond, 800*time.Millisecond), true)
	case 9:
		p.clock.jump(w.between(-time.Second, time.Second))
	case 10:
		w.network.now = n.newWeather()
	case 11: // a vote that is not durable would be given twice
		p.crashOnVote = true
	}
}

// pickVictim returns any node, in half of all cases a leader.
func (n *nemesis) pickVictim() *process {
	w := n.world
	start := w.random.IntN(len(w.nodes))
	if w.random.IntN(2) == 0 {
		for i := range w.nodes {
			p := w.nodes[(start+i)%len(w.nodes)]
			if p.isUp() && p.core.Status().State == raft.StateLeader {
				return p
			}
		}
	}
	return w.nodes[start]
}

// restartSoon starts a process that has crashed again, often at once.
func (n *nemesis) restartSoon(p *process) {
	down := [...]time.Duration{2 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond}
	n.world.After(n.world.between(0, down[n.world.random.IntN(len(down))]), func() {
		if !n.over {
			p.start()
		}
	})
}

// partition divides the nodes in two at random, or cuts one off.
func (n *nemesis) partition() {
	w := n.world
	members := w.members()
	w.random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	first := 1 + w.random.IntN(len(members)-1)
	w.network.heal()
	w.network.isolate(members[:first], members[first:], w.random.IntN(3) > 0)
}

// newWeather returns a good or bad network.
func (n *nemesis) newWeather() Network {
	r := n.world.random
	return Network{
		MinDelay:  0,
		MaxDelay:  n.world.between(time.Millisecond, 40*time.Millisecond),
		Loss:      0.3 * r.Float64() * r.Float64(),
		Duplicate: 0.2 * r.Float64(),
		Straggle:  0.1 * r.Float64(),
	}
}

// endFaults ends all faults; clocks still drift.
func (n *nemesis) endFaults() {
	n.over = true
	w := n.world
	w.network.now = w.options.Network
	w.network.heal()
	for _, p := range w.nodes {
		p.fuse, p.crashOnVote = 0, false
		if p.isUp() && p.paused {
			p.resume()
		}
		if !p.isUp() {
			p.start()
		}
	}
}
