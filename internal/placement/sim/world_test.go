// SPDX-License-Identifier: Apache-2.0

// Package sim runs members of a placement in virtual time, and reports violations
// of placement's promises.
//
// Each process is a core.Coordinator in a driver.Driver, as programs run them;
// the home of locks and entries is package memory's, in one of its two modes, or
// any [Store]. Its tests also run package kvstore on an engine, and clusters of the
// real members with goroutines, in virtual time but not by one schedule. The
// members' leases are a model, the registry: members renew, others observe that
// they do, and evict those that do not. The simulation takes no real time and has
// one goroutine. All choices come from a seed: the same seed gives the same run.
//
// A [plan] makes 100 to 160 calls of actors in 30 seconds, and at the same time crashes, pauses and isolates machines,
// cuts them off from each other, loses, delays and doubles commands, results and
// messages, sets clocks, has the store recover with a jump of its clock, lets members leave
// and join anew, evicts them, and has executors fail. Topologies arrive late, in any order,
// twice, or not at all. Clocks differ, and go at rates of their own.
//
// An actor keeps the value of its register in memory. For each call it writes the
// next value, in the step of the store in which its fence is checked. A paused
// process may wake in the middle of that step and go on. The oracle sees the state
// of all processes. It reports a [Violation] if
//
//   - epochs of a key do not grow, or two activations write under one,
//   - an effect comes after one of a greater epoch, or overwrites one that it has not seen,
//   - a key is in use at two members that are both alive,
//   - a key resolves to a process in which it is not active,
//   - a resolve is answered twice, not at all, or later than the timeout of its request allows,
//   - events of a process are not in the order of what happened,
//   - some process does not reach some key within [Bound] after all faults have
//     ended, or processes do not agree then on where a key is,
//   - a process that leaves cleanly keeps something, or does not end.
//
// Each [Mutation] puts a fault into the program that the oracle must find. [Shrink] reduces
// a plan that fails to the steps that matter.
package sim

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/schedule"
	"github.com/kazahana-db/kazahana/placement"
)

// world is all that a run consists of.
type world struct {
	schedule.Schedule
	worldFaults
	seed     uint64
	options  Options
	mutation Mutation
	setting  setting

	machines  []*machine
	byName    map[string]*machine
	keys      []placement.Key
	registry  registry
	store     *store
	fate      *fate // of the command that is being done
	permitted bool  // the fence is not checked in the update that is being done
	oracle    oracle
	failure   *Violation
	agreed    map[placement.Key]map[placement.Holder]bool // where the latest round has found each key
}

// setting is what a seed chooses for all of its run.
type setting struct {
	machines, clients int
	keys, calls       int
	kept, clocked     bool
	strategy          placement.Strategy
	moves             int
	waiters, cache    int
	idle              time.Duration
	specialists       bool // some machines have one kind only
}

var kinds = []string{"account", "teller"}

func newSetting(seed uint64, o Options) setting {
	d := newDice(seed, aboutWorld)
	s := setting{
		machines: 3 + d.IntN(3), clients: d.IntN(2), keys: 4 + d.IntN(8), calls: 100 + d.IntN(60),
		kept: d.chance(0.5), clocked: d.chance(0.5), moves: d.IntN(3), specialists: d.chance(0.3),
	}
	switch o.Home {
	case KeptHome:
		s.kept = true
	case LapseHome:
		s.kept = false
	}
	s.kept = s.kept || o.Open != nil
	s.strategy = [...]placement.Strategy{placement.Rendezvous{}, placement.Rendezvous{}, placement.LocalFirst{}, placement.LeastLoaded{}}[d.IntN(4)]
	if d.chance(0.2) {
		s.waiters, s.cache = 1+d.IntN(2), 1+d.IntN(3)
	}
	if d.chance(0.5) {
		s.idle = d.between(500*time.Millisecond, 5*time.Second)
	}
	return s
}

// newWorld returns a world in which the machines start their processes.
func newWorld(seed uint64, o Options) (*world, error) {
	w := &world{
		seed: seed, options: o, mutation: o.Mutation, setting: newSetting(seed, o),
		byName: map[string]*machine{},
	}
	w.oracle = newOracle(w)
	w.registry = registry{members: map[string]*lease{}, used: map[string]int64{}, changed: w.pushTopology, reuse: o.Mutation == ReuseIncarnations, died: w.noteDeath, now: func() time.Duration { return w.Now() }}
	var err error
	if w.store, err = newStore(w, w.setting.kept, w.setting.clocked); err != nil {
		return nil, err
	}
	for i := range w.setting.keys {
		k := placement.Key{Kind: kinds[i%len(kinds)], ID: fmt.Sprint(i)}
		w.keys = append(w.keys, k)
	}
	for i := range w.setting.machines + w.setting.clients {
		w.addMachine(i)
	}
	for _, m := range w.machines {
		w.After(w.dice(aboutMachine, uint64(m.index), 1<<32).between(0, time.Second), m.start)
	}
	return w, nil
}

func (w *world) addMachine(i int) {
	d := w.dice(aboutMachine, uint64(i))
	m := &machine{world: w, index: i, name: string(rune('a' + i)), kinds: kinds, zone: i % 2, client: i >= w.setting.machines}
	m.clock = clock{world: &w.Schedule, rate: 1 + 0.05*(2*d.Float64()-1), skew: d.between(-time.Second, time.Second)}
	m.cut = make([]int, w.setting.machines+w.setting.clients)
	if w.setting.specialists && i >= len(kinds) { // each kind has a member that has all
		m.kinds = kinds[i%len(kinds):][:1]
	}
	w.machines = append(w.machines, m)
	w.byName[m.name] = m
}

func (w *world) coordinatorOptions(p *process) core.Options {
	return core.Options{
		Self: p.owner, Address: p.machine.name, Strategy: w.setting.strategy, RequestTimeout: requestTimeout,
		MaxWaiters: w.setting.waiters, CacheSize: w.setting.cache, MovesPerTick: w.setting.moves,
	}
}

func (w *world) homesOf(p *process) driver.Homes {
	h := home{p}
	return driver.Homes{Lock: h, Storage: h, Executor: executor{p}}
}

func (w *world) driverOptions(p *process) driver.Options {
	return driver.Options{
		Runner: runner{p}, Logger: slog.New(slog.DiscardHandler), Now: p.machine.clock.wall, Events: p.log.handleEvent,
		IdleAfter: w.setting.idle, Tick: tick,
	}
}

// dice returns the dice for one thing, which the numbers name.
func (w *world) dice(about subject, numbers ...uint64) dice {
	return newDice(w.seed, about, numbers...)
}

// tracef adds a line to the trace of the run.
func (w *world) tracef(format string, args ...any) {
	if w.options.Trace != nil {
		at := w.Now().Round(time.Microsecond).Seconds()
		w.options.Trace(fmt.Sprintf("%10.6f  %s", at, fmt.Sprintf(format, args...)))
	}
}

// fail notes the first violation, which ends the run.
func (w *world) fail(kind Kind, format string, args ...any) {
	if w.failure == nil {
		w.failure = &Violation{Kind: kind, Seed: w.seed, At: w.Now(), Text: fmt.Sprintf(format, args...)}
		w.tracef("VIOLATION %s: %s", kind, w.failure.Text)
	}
}

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

// errUnknown says that a request may have been done.
var errUnknown = errors.New("sim: the store does not answer")

// giveUp is how long a process waits for the store or for another process.
const giveUp = 1500 * time.Millisecond

// latency returns how long something travels.
func (w *world) latency(d dice) time.Duration {
	switch {
	case w.closed || w.calm:
		return d.between(0, 5*time.Millisecond)
	case w.slow > 0 && d.chance(0.3):
		return d.between(0, 5*time.Second)
	case d.chance(0.02):
		return d.between(0, time.Second)
	}
	return d.between(0, 20*time.Millisecond)
}

// reachesStore reports whether a process reaches the store now.
func (w *world) reachesStore(m *machine) bool { return m.isolated == 0 && w.recovering == 0 }

// losesReply reports whether a reply is lost.
func (w *world) losesReply(d dice) bool {
	return !w.calm && (w.lossy > 0 && d.chance(0.3) || d.chance(0.005))
}

// readRegister reads the register of an actor, in the step in which the fence is checked.
func (w *world) readRegister(a *actor) (value int, err error) {
	if !w.reachesStore(a.process.machine) {
		return 0, fmt.Errorf("%w: %w", placement.ErrUnavailable, errUnknown)
	}
	err = w.updateRegister(a, w.mutation == NoFence, func(found int) int {
		value = found
		return found
	})
	return value, err
}

// updateRegister updates the register of an actor. With permitted the fence is not checked.
func (w *world) updateRegister(a *actor, permitted bool, change func(int) int) error {
	w.permitted = permitted
	defer func() { w.permitted = false }()
	return w.store.home.Update(a.key, a.process.owner, a.epoch, change)
}
