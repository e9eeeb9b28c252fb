// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// commandTimeout is after what time a command has failed, whatever becomes of it.
const commandTimeout = 1500 * time.Millisecond

// runner executes the commands of one process: a driver.Runner. Each command
// travels to where it is done, and its result travels back; the reply can be lost, both can be
// doubled, and each takes a time of its own. A command that takes too long has failed,
// and is done all the same.
type runner struct{ process *process }

// fate is what becomes of the command that is being done.
type fate struct {
	dice    dice
	lost    bool // its reply is lost, if it goes to the store
	silent  bool // … and nothing is told; set by what does it
	refused bool // it has taken too long: it fails and does nothing
	again   bool // it is not done yet: set by what does it
}

// Run implements driver.Runner.
func (r runner) Run(work func(context.Context) placement.CommandResult, done func(placement.CommandResult)) {
	p := r.process
	w, d := p.world, p.dice(aboutCommand)
	w.oracle.counts.Commands++
	c := &command{process: p, dice: d, work: work, done: done, lost: w.losesReply(d)}
	w.After(w.latency(d), c.execute)
	if w.double > 0 && d.chance(0.2) {
		w.oracle.counts.Doubled++
		w.After(w.latency(d), c.execute)
	}
	p.after(p.machine.clock.trueDuration(commandTimeout), c.expire)
}

// command is one that is on its way.
type command struct {
	process   *process
	dice      dice
	lost      bool
	delivered bool
	work      func(context.Context) placement.CommandResult
	done      func(placement.CommandResult)
}

// execute does the command. A process that has ended may have sent it before.
func (c *command) execute() {
	if c.process.gone && c.dice.chance(0.5) {
		return
	}
	f := &fate{dice: c.dice, lost: c.lost}
	result := c.process.world.executeWith(c.work, f)
	if f.lost && f.silent {
		return
	}
	if f.again {
		c.process.after(10*time.Millisecond, c.execute)
		return
	}
	c.sendReply(result)
}

// expire fails the command if there is no result yet.
func (c *command) expire() {
	if !c.delivered {
		c.process.world.oracle.counts.Expired++
		c.deliverResult(c.process.world.executeWith(c.work, &fate{dice: c.dice, refused: true}))
	}
}

// sendReply brings the result back, perhaps twice.
func (c *command) sendReply(result placement.CommandResult) {
	w, p := c.process.world, c.process
	if w.mutation == DropLateResults && (c.delivered || c.dice.chance(0.05)) {
		c.delivered = true
		return
	}
	p.after(w.latency(c.dice), func() { c.deliverResult(result) })
	if w.double > 0 && c.dice.chance(0.2) {
		w.oracle.counts.Doubled++
		p.after(w.latency(c.dice), func() { c.deliverResult(result) })
	}
}

// deliverResult gives the result to the driver. From then on the process knows of its lease.
func (c *command) deliverResult(result placement.CommandResult) {
	c.delivered = true
	if r, ok := result.(placement.LockAcquired); ok && r.Err == nil {
		c.process.world.oracle.known[r.Key] = r.Lease.Epoch
	}
	c.done(result)
}
