// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// network delivers or loses messages.
type network struct {
	world   *world
	now     Network // its present properties
	blocked map[[2]uint64]bool
	sent    int
}

func (n *network) send(m *raftpb.Message) {
	n.sent++
	if n.drawChance(n.now.Loss) {
		return
	}
	if n.drawChance(n.now.Duplicate) {
		n.carry(proto.Clone(m).(*raftpb.Message))
	}
	n.carry(m)
}

// carry delivers a message after a delay, unless its path is blocked when it is sent or when it arrives.
func (n *network) carry(m *raftpb.Message) {
	way := [2]uint64{m.GetFrom(), m.GetTo()}
	if n.blocked[way] {
		return
	}
	n.world.After(n.delay(), func() {
		if !n.blocked[way] {
			n.world.process(way[1]).deliver(m)
		}
	})
}

func (n *network) delay() time.Duration {
	if n.drawChance(n.now.Straggle) {
		return n.world.between(n.now.MaxDelay, 20*n.now.MaxDelay)
	}
	return n.world.between(n.now.MinDelay, n.now.MaxDelay)
}

func (n *network) drawChance(probability float64) bool {
	return probability > 0 && n.world.random.Float64() < probability
}

// isolate blocks all paths between two sides, or only those from the first to the second.
func (n *network) isolate(first, second []uint64, bothWays bool) {
	for _, a := range first {
		for _, b := range second {
			n.blocked[[2]uint64{a, b}] = true
			if bothWays {
				n.blocked[[2]uint64{b, a}] = true
			}
		}
	}
}

func (n *network) heal() { clear(n.blocked) }
