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

// process is a node with its machine: the running node, the disk and the clock.
type process struct {
	world *world
	id    uint64
	disk  *disk
	clock clock

	// Lost in a crash:
	core    *core.Core
	timers  *timers
	ledger  *ledger
	ticking *bool // etcd/raft's own timers run until it is false

	paused  bool
	wakeful bool     // an alarm was due while paused
	backlog []func() // messages that came while paused

	fuse        int  // steps until a crash; 0: none is near
	crashOnVote bool // the node crashes after the next vote that it grants
	timedOut    bool // the node handles an election timeout
}

// maxBacklog is how many messages wait for a paused process.
const maxBacklog = 256

func (p *process) isUp() bool { return p.core != nil }

// start starts the process from its disk.
func (p *process) start() {
	o := p.world.options
	p.ledger = &ledger{oracle: &p.world.oracle, process: p, index: 1}
	p.timers = p.newTimers()
	config := core.Config{
		ID: p.id, Disk: p.disk, Timers: p.timers, State: p.ledger, Send: p.send, Read: p.world.oracle.checkRead,
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
	machine, err := rafttimer.NewMachine(w.timing, w.source())
	if err != nil {
		panic(err) // newWorld has checked the timing
	}
	return &timers{
		machine: machine, clock: &p.clock, world: &w.Schedule, wake: p.handleAlarm,
		deaf: w.options.Mutation == NeverContact,
	}
}

// crash ends the process.
func (p *process) crash() {
	if !p.isUp() {
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

// burnFuse counts a step, and crashes the process at the end of the fuse.
func (p *process) burnFuse() error {
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
	p.world.oracle.countVotes(m)
	if p.crashOnVote && m.GetType() == raftpb.MsgVoteResp && !m.GetReject() {
		return errCrash
	}
	return p.burnFuse()
}

// deliver hands a message to the process, now or after its pause.
func (p *process) deliver(m *raftpb.Message) {
	p.whenAwake(func() { p.run(func() error { return p.core.Step(m) }) })
}

func (p *process) whenAwake(f func()) {
	switch {
	case !p.isUp():
	case !p.paused:
		f()
	case len(p.backlog) < maxBacklog:
		p.backlog = append(p.backlog, f)
	}
}

// handleAlarm handles the alarm of the timers.
func (p *process) handleAlarm() {
	if p.paused {
		p.wakeful = true
		return
	}
	events := p.timers.due()
	for _, e := range events {
		if e.Kind == rafttimer.Stall {
			p.world.oracle.stalls++
		}
		if p.isUp() && p.timers.machine.IsCurrent(e) {
			p.timedOut = e.Kind == rafttimer.ElectionTimeout
			p.run(func() error { return p.core.Fire(e) })
		}
	}
	p.timedOut = false
	if p.isUp() && (len(events) > 0 || p.world.options.Mutation != LoseAlarm) {
		_ = p.timers.setAlarm()
	}
}

// run runs an action of the node, and lets the oracle check it. etcd/raft panics if its own invariants
// are broken.
func (p *process) run(f func() error) {
	if !p.isUp() {
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
	if !p.isUp() || p.paused {
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

// resume handles the alarm and the messages that have waited, in a random order.
func (p *process) resume() {
	p.paused = false
	if p.clock.stopped {
		p.timers.thaw()
	}
	backlog, wakeful := p.backlog, p.wakeful
	p.backlog, p.wakeful = nil, false
	alarmFirst := p.world.random.IntN(2) == 0
	if wakeful && alarmFirst {
		p.handleAlarm()
	}
	for _, f := range backlog {
		p.whenAwake(f)
	}
	if wakeful && !alarmFirst && p.isUp() {
		p.handleAlarm()
	}
}

// String returns the node's name.
func (p *process) String() string { return fmt.Sprintf("node %d", p.id) }

func (p *process) lastIndex() uint64 {
	last, _ := p.disk.LastIndex()
	return last
}

// entriesOnDisk returns the entries on disk by their indexes.
func (p *process) entriesOnDisk() map[uint64]*raftpb.Entry {
	first, _ := p.disk.FirstIndex()
	entries, err := p.disk.entriesBetween(first, p.lastIndex()+1)
	if err != nil {
		p.world.fail(Broken, "log of node %d: %v", p.id, err)
	}
	log := map[uint64]*raftpb.Entry{}
	for _, e := range entries {
		log[e.GetIndex()] = e
	}
	return log
}

// startTicking calls Tick like a time.Ticker that was started at a random time. A process that stood
// still gets one tick for all that it has missed.
func (p *process) startTicking() {
	running := true
	p.ticking = &running
	every := p.clock.lasts(p.world.options.tickInterval(p.world.timing))
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
				p.run(p.core.Tick)
			})
		}
		p.world.After(every, tick)
	}
	p.world.After(p.world.between(0, every), tick)
}
