// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// process is a node with its machine: what runs, what is on disk, and the clock.
type process struct {
	world *world
	id    uint64
	disk  *disk
	clock clock

	// What a crash takes away:
	core    *core.Core
	timers  *timers
	ledger  *ledger
	ticking *bool // etcd/raft's own timers run until it is false

	paused  bool
	wakeful bool     // an alarm was due while paused
	backlog []func() // messages that came while paused

	fuse        int  // steps until a crash; 0: none is near
	crashOnVote bool // the next vote that the node grants is the last that it does
	timedOut    bool // an election timeout is being served
}

// maxBacklog is how many messages wait for a paused process.
const maxBacklog = 256

func (p *process) up() bool { return p.core != nil }

// start starts the process from its disk.
func (p *process) start() {
	o := p.world.options
	p.ledger = &ledger{oracle: &p.world.oracle, process: p, index: 1}
	p.timers = p.newTimers()
	config := core.Config{
		ID: p.id, Disk: p.disk, Timers: p.timers, State: p.ledger, Send: p.send, Read: p.world.oracle.read,
		Timing: o.Timing, Sticky: o.Sticky, SnapshotEvery: snapshotEvery, LeaseReads: o.Mutation == LeaseReads,
	}
	if o.Ticks != nil {
		config.Ticks = &core.Ticks{Election: o.Ticks.Election, Heartbeat: o.Ticks.Heartbeat}
		config.Timers = idle{&p.clock}
	}
	started, err := core.New(config)
	if err != nil {
		p.world.fail(Broken, "node %d does not start: %v", p.id, err)
		return
	}
	p.core = started
	p.startTicking()
}

func (p *process) newTimers() *timers {
	w := p.world
	return &timers{
		machine: w.timing.Machine(w.source()), clock: &p.clock, world: &w.Schedule, wake: p.wake,
		deaf: w.options.Mutation == NeverContact,
	}
}

// crash ends the process.
func (p *process) crash() {
	if !p.up() {
		return
	}
	p.world.oracle.crashes++
	p.timers.ended = true
	*p.ticking = false
	p.core, p.fuse, p.crashOnVote, p.paused, p.backlog, p.wakeful = nil, 0, false, false, nil, false
	if p.clock.stopped {
		p.clock.start()
	}
	if err := p.disk.crash(); err != nil {
		p.world.fail(Broken, "disk of node %d: %v", p.id, err)
	}
	if p.world.crashed != nil {
		p.world.crashed(p)
	}
}

// step burns the fuse, if there is one.
func (p *process) step() error {
	if p.fuse == 0 {
		return nil
	}
	if p.fuse--; p.fuse == 0 {
		return errCrash
	}
	return nil
}

func (p *process) send(m *raftpb.Message) error {
	p.world.network.send(m)
	p.world.oracle.count(m)
	if p.crashOnVote && m.GetType() == raftpb.MsgVoteResp && !m.GetReject() {
		return errCrash
	}
	return p.step()
}

// deliver hands a message to the process, now or after its pause.
func (p *process) deliver(m *raftpb.Message) {
	p.whenAwake(func() { p.do(func() error { return p.core.Step(m) }) })
}

func (p *process) whenAwake(f func()) {
	switch {
	case !p.up():
	case !p.paused:
		f()
	case len(p.backlog) < maxBacklog:
		p.backlog = append(p.backlog, f)
	}
}

// wake serves the alarm of the timers.
func (p *process) wake() {
	if p.paused {
		p.wakeful = true
		return
	}
	events := p.timers.due()
	for _, e := range events {
		if e.Kind == rafttimer.Stall {
			p.world.oracle.stalls++
		}
		if p.up() && p.timers.machine.IsCurrent(e) {
			p.timedOut = e.Kind == rafttimer.ElectionTimeout
			p.do(func() error { return p.core.Fire(e) })
		}
	}
	p.timedOut = false
	if p.up() && (len(events) > 0 || p.world.options.Mutation != LoseAlarm) {
		_ = p.timers.setAlarm()
	}
}

// do has the node do something, and the oracle look at it. etcd/raft panics where its own
// invariants are broken.
func (p *process) do(f func() error) {
	if !p.up() {
		return
	}
	before := p.core.Status()
	defer func() {
		if v := recover(); v != nil {
			p.world.fail(Panicked, "node %d: %v", p.id, v)
			p.crash()
		}
	}()
	switch err := f(); {
	case errors.Is(err, errCrash):
		p.crash()
	case err != nil && !errors.Is(err, raft.ErrProposalDropped):
		p.world.fail(Broken, "node %d: %v", p.id, err)
	default:
		p.world.oracle.observe(p, before, p.core.Status())
	}
}

// pause stops the process. If its machine is suspended with it, its clock stands still.
func (p *process) pause(d time.Duration, suspend bool) {
	if !p.up() || p.paused {
		return
	}
	p.paused = true
	if suspend {
		p.timers.freeze()
	}
	running := p.core
	p.world.After(d, func() {
		if p.core == running && p.paused {
			p.resume()
		}
	})
}

// resume serves what has waited: alarm and messages in an order that nothing fixes.
func (p *process) resume() {
	p.paused = false
	if p.clock.stopped {
		p.timers.thaw()
	}
	backlog, wakeful := p.backlog, p.wakeful
	p.backlog, p.wakeful = nil, false
	alarmFirst := p.world.random.IntN(2) == 0
	if wakeful && alarmFirst {
		p.wake()
	}
	for _, f := range backlog {
		p.whenAwake(f)
	}
	if wakeful && !alarmFirst && p.up() {
		p.wake()
	}
}

// String returns the node's name.
func (p *process) String() string { return fmt.Sprintf("node %d", p.id) }

func (p *process) last() uint64 {
	last, _ := p.disk.LastIndex()
	return last
}

// log returns the entries on disk by their indexes.
func (p *process) log() map[uint64]*raftpb.Entry {
	first, _ := p.disk.FirstIndex()
	entries, err := p.disk.tail(first, p.last()+1)
	if err != nil {
		p.world.fail(Broken, "log of node %d: %v", p.id, err)
	}
	log := map[uint64]*raftpb.Entry{}
	for _, e := range entries {
		log[e.GetIndex()] = e
	}
	return log
}

// startTicking calls Tick as a time.Ticker does that was started at any time: on a grid. A
// process that stood still gets one tick for all that it has missed.
func (p *process) startTicking() {
	running := true
	p.ticking = &running
	every := p.clock.lasts(p.world.options.tick(p.world.timing.Config()))
	if every == 0 {
		return
	}
	missed := false
	var tick func()
	tick = func() {
		if !running {
			return
		}
		if !p.paused || !missed {
			missed = p.paused
			p.whenAwake(func() {
				missed = false
				p.do(p.core.Tick)
			})
		}
		p.world.After(every, tick)
	}
	p.world.After(p.world.between(0, every), tick)
}
