// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/schedule"
	"github.com/kazahana-db/kazahana/placement"
)

// machine is a place with a name, a clock and links, where one process runs at a time.
type machine struct {
	world *world
	index int
	name  string
	clock clock
	kinds []string
	zone  int

	client   bool          // its processes activate nothing
	process  *process      // nil: none is running
	runs     int           // processes so far
	paused   int           // pauses in force
	since    time.Duration // when the pause in force began
	asleep   time.Duration // how long pauses that have ended took
	sets     int           // how often the clock was set
	down     int           // crashes in force: no process starts
	isolated int           // cuts off from the store in force
	cut      []int         // cuts off from each machine in force
	held     []func()      // what happened to the process while it was paused
}

// member returns what the machine's processes announce.
func (m *machine) member() placement.Member {
	return placement.Member{
		Owner: placement.Owner{Name: m.name}, Address: m.name, Kinds: m.kinds,
		Labels: map[string]string{"zone": string(rune('a' + m.zone))},
	}
}

// start starts a process, unless one is running or the machine is down.
func (m *machine) start() {
	if m.process != nil || m.down > 0 || m.world.closed {
		return
	}
	m.runs++
	m.process = newProcess(m)
	m.world.tracef("%v starts", m.process)
	m.process.startUp()
}

// restart starts a process a little later.
func (m *machine) restart() {
	d := m.world.dice(aboutMachine, uint64(m.index), uint64(m.runs))
	m.world.After(d.between(10*time.Millisecond, 500*time.Millisecond), m.start)
}

// crash ends the process at this instant: what it has sent is on its way.
func (m *machine) crash() {
	if p := m.process; p != nil {
		m.world.tracef("%v crashes", p)
		m.world.oracle.counts.Crashes++
		p.exit()
	}
}

func (m *machine) pause() {
	if m.paused++; m.paused == 1 {
		m.since = m.world.Now()
		m.world.tracef("machine %s pauses", m.name)
	}
}

// resume runs the events that were held back during the pause, in their order.
func (m *machine) resume() {
	if m.paused--; m.paused > 0 {
		return
	}
	m.asleep += m.world.Now() - m.since
	m.world.tracef("machine %s resumes, %d events late", m.name, len(m.held))
	for _, do := range m.held {
		m.world.After(0, do)
	}
	m.held = nil
}

// awakeTime returns the time in which the machine was not paused, until now.
func (m *machine) awakeTime() time.Duration {
	if m.paused > 0 {
		return m.since - m.asleep
	}
	return m.world.Now() - m.asleep
}

// setClock sets the wall clock.
func (m *machine) setClock(by time.Duration) {
	m.clock.skew += by
	m.sets++
	if m.process != nil && by < 0 {
		m.process.log.latest = time.Time{}
	}
}

// cutFrom cuts the link to a machine, in both directions.
func (m *machine) cutFrom(other *machine, by int) {
	m.cut[other.index] += by
	other.cut[m.index] += by
}

// clock is a machine's own. It goes at a rate of its own and can be set.
type clock struct {
	world *schedule.Schedule
	rate  float64
	skew  time.Duration // of the wall clock, which an administrator sets
}

// monotonic returns what the machine has counted since its start.
func (c *clock) monotonic() time.Duration { return time.Duration(float64(c.world.Now()) * c.rate) }

// wall returns the time that the machine believes it is.
func (c *clock) wall() time.Time { return epoch.Add(c.monotonic() + c.skew) }

// trueDuration returns the true time in which the clock counts d.
func (c *clock) trueDuration(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.rate)
}

// epoch is the true time at which every run begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

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
func (r runner) Run(work func(context.Context) core.CommandResult, done func(core.CommandResult)) {
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
	work      func(context.Context) core.CommandResult
	done      func(core.CommandResult)
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
func (c *command) sendReply(result core.CommandResult) {
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
func (c *command) deliverResult(result core.CommandResult) {
	c.delivered = true
	if r, ok := result.(core.LockAcquired); ok && r.Err == nil {
		c.process.world.oracle.known[r.Key] = r.Lease.Epoch
	}
	c.done(result)
}
