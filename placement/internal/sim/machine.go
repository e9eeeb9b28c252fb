// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

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
