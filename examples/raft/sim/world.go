// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// world has all parts of a run.
type world struct {
	schedule.Schedule
	options Options
	timing  rafttimer.Config // complete
	random  *rand.Rand
	seed    uint64
	network network
	oracle  oracle
	nodes   []*process // node i is nodes[i-1]
	failure *Violation
	client  client
	crashed func(p *process) // may be nil
}

// newWorld returns a world of nodes that have just been started.
func newWorld(seed uint64, o Options) (*world, error) {
	o = o.withDefaults()
	timing, err := o.Timing.WithDefaults()
	if err != nil {
		return nil, err
	}
	w := &world{options: o, timing: timing, seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
	w.network = network{world: w, now: o.Network, blocked: map[[2]uint64]bool{}}
	w.oracle = oracle{world: w, leaders: map[uint64]uint64{}, reads: map[uint64]uint64{}}
	w.client = client{world: w}
	for id := uint64(1); id <= uint64(o.Nodes); id++ {
		if err := w.addNode(id); err != nil {
			return nil, err
		}
	}
	for _, p := range w.nodes {
		p.start()
		w.startHiccups(p)
	}
	return w, nil
}

func (w *world) addNode(id uint64) error {
	p := &process{world: w, id: id}
	p.clock = clock{world: &w.Schedule, rate: 1 + w.options.Drift*(2*w.random.Float64()-1), reading: w.between(0, time.Hour)}
	w.nodes = append(w.nodes, p)
	var err error
	p.disk, err = newDisk(w.members(), w.options.Mutation, p.burnFuse)
	return err
}

func (w *world) members() []uint64 {
	members := make([]uint64, w.options.Nodes)
	for i := range members {
		members[i] = uint64(i + 1)
	}
	return members
}

func (w *world) process(id uint64) *process { return w.nodes[id-1] }

// source returns a source of random numbers for one machine.
func (w *world) source() rand.Source { return rand.NewPCG(w.random.Uint64(), w.random.Uint64()) }

// between returns a random time, both bounds included.
func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.random.Int64N(int64(high-low)+1))
}

// runUntil runs events for a time, until done returns true or there is a violation. It reports whether
// done returned true.
func (w *world) runUntil(d time.Duration, done func() bool) bool {
	end := w.Now() + d
	for w.failure == nil && w.Next(end) {
		if done != nil && done() {
			return w.failure == nil
		}
	}
	return false
}

// startHiccups makes a process stand still from time to time, if the options say so.
func (w *world) startHiccups(p *process) {
	if w.options.Hiccup == 0 {
		return
	}
	w.After(w.between(0, 2*w.options.Hiccup), func() {
		p.pause(w.between(0, w.options.HiccupFor), false)
		w.startHiccups(p)
	})
}

// leader returns the leader that all nodes follow in one term; nil if there is
// none.
func (w *world) leader() *process {
	var leader *process
	for _, p := range w.nodes {
		if !p.isUp() || p.core.Status().Leader == 0 || p.core.Status().Term != w.nodes[0].core.Status().Term {
			return nil
		}
		if p.core.Status().Leader == p.id {
			leader = p
		} else if p.core.Status().Leader != w.nodes[0].core.Status().Leader {
			return nil
		}
	}
	return leader
}

// fail records the first violation, which ends the run.
func (w *world) fail(kind Kind, format string, args ...any) {
	if w.failure == nil {
		w.failure = &Violation{Kind: kind, Seed: w.seed, At: w.Now(), Text: fmt.Sprintf(format, args...)}
	}
}
