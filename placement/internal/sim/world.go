// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/strategy"
)

// world is all that a run consists of.
type world struct {
	schedule.Schedule
	faults
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
	s.strategy = [...]placement.Strategy{placement.Rendezvous{}, placement.Rendezvous{}, strategy.LocalFirst{}, strategy.LeastLoaded{}}[d.IntN(4)]
	if d.chance(0.2) {
		s.waiters, s.cache = 1+d.IntN(2), 1+d.IntN(3)
	}
	if d.chance(0.5) {
		s.idle = d.between(500*time.Millisecond, 5*time.Second)
	}
	return s
}

// newWorld returns a world whose machines start their processes.
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

func (w *world) coordinatorOptions(p *process) placement.Options {
	return placement.Options{
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
