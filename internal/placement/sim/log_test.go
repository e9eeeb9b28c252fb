// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// log checks the events of one process: their order is that of what happened.
type log struct {
	process  *process
	latest   time.Time // of the events; zero after the clock was set back
	topology int64
	stopped  bool
	held     *placement.Event // with SwapEvents

	requested map[placement.RequestID]bool  // false: it was answered
	acquired  map[placement.RequestID]int64 // epochs
	active    map[placement.Key]int64       // epochs
	draining  map[placement.Key]int64       // epochs
	highest   map[placement.Key]int64       // epochs that were active
}

func newLog(p *process) *log {
	return &log{
		process: p, requested: map[placement.RequestID]bool{}, acquired: map[placement.RequestID]int64{},
		active: map[placement.Key]int64{}, draining: map[placement.Key]int64{}, highest: map[placement.Key]int64{},
	}
}

// handleEvent is the driver's handler of events.
func (l *log) handleEvent(e placement.Event) {
	w := l.process.world
	if w.mutation == SwapEvents && l.held == nil && w.dice(aboutWorld, uint64(w.oracle.counts.Events)).chance(0.02) {
		l.held = &e
		return
	}
	l.noteEvent(e)
	if l.held != nil {
		held := *l.held
		l.held = nil
		l.noteEvent(held)
	}
}

func (l *log) noteEvent(e placement.Event) {
	w := l.process.world
	w.tracef("%v: event %v", l.process, eventLine{e})
	l.countEvent(e)
	if fault := l.findFault(e); fault != "" {
		w.fail(Unordered, "%v: %v: %s", l.process, eventLine{e}, fault)
	}
	l.latest = e.ObservedAt
}

func (l *log) countEvent(e placement.Event) {
	n := &l.process.world.oracle.counts
	n.Events++
	switch e.Kind {
	case placement.Moved:
		n.Moves++
	case placement.GivenBack:
		n.GivenBack++
	case placement.TimedOut:
		n.TimedOut++
	case placement.TopologyChanged:
		n.Topologies++
	case placement.Deactivated:
		if strings.HasPrefix(e.Reason, placement.CauseIdle.String()) {
			n.Passivations++
		}
	}
}

// findFault says what is wrong with an event after those before it.
func (l *log) findFault(e placement.Event) string {
	if e.ObservedAt.Before(l.latest) {
		return "it was observed before the one before"
	}
	switch e.Kind {
	case placement.Stopped:
		l.stopped = true
	case placement.TopologyChanged:
		return l.checkTopology(e)
	case placement.Requested, placement.Joined, placement.Acquired, placement.TimedOut:
		return l.checkUnderway(e)
	case placement.Resolved, placement.Refused:
		return l.checkAnswered(e)
	}
	return l.checkLife(e)
}

func (l *log) checkTopology(e placement.Event) string {
	before := l.topology
	l.topology = e.Topology
	if e.Topology < before {
		return "an older topology is in force"
	}
	return ""
}

// checkUnderway checks the events of a request.
func (l *log) checkUnderway(e placement.Event) string {
	open, known := l.requested[e.Request]
	switch e.Kind {
	case placement.Requested:
		l.requested[e.Request] = true
		if known && !open { // one that waited for another's end begins twice
			return "the request has its answer"
		}
		return ""
	case placement.Acquired:
		l.acquired[e.Request] = e.Epoch
		return "" // a claim may also be repeated only to give it back
	}
	if !open {
		return "there is no such request"
	}
	return ""
}

// checkAnswered checks that a request is answered once.
func (l *log) checkAnswered(e placement.Event) string {
	if e.Request == 0 {
		return ""
	}
	open := l.requested[e.Request]
	l.requested[e.Request] = false
	if !open {
		return "there is no such request, or it has its answer"
	}
	return ""
}

// checkLife checks the events of an activation: Activated, then Draining, then Kept or Deactivated.
func (l *log) checkLife(e placement.Event) string {
	k := e.Key
	switch e.Kind {
	case placement.Activated:
		return l.checkActivated(e)
	case placement.Draining:
		if l.active[k] != e.Epoch {
			return "the activation is not in use"
		}
		delete(l.active, k)
		l.draining[k] = e.Epoch
	case placement.Kept:
		if l.draining[k] != e.Epoch {
			return "the activation is not draining"
		}
		delete(l.draining, k)
		l.active[k] = e.Epoch
	case placement.Deactivated:
		if l.active[k] == e.Epoch {
			return "the activation is in use"
		}
		if l.draining[k] == e.Epoch {
			delete(l.draining, k)
		}
	}
	return ""
}

func (l *log) checkActivated(e placement.Event) string {
	k := e.Key
	before, draining, highest := l.active[k], l.draining[k], l.highest[k]
	l.active[k], l.highest[k] = e.Epoch, e.Epoch
	switch {
	case l.stopped:
		return "the coordinator is stopped"
	case before != 0 || draining != 0:
		return "the key is in use, or was not deactivated"
	case e.Epoch <= highest:
		return "the epoch was used before"
	case l.acquired[e.Request] != e.Epoch:
		return "the lock was not acquired under the epoch"
	}
	return ""
}

// answer prints the answer of a resolve.
type answer struct {
	core.Resolution
	err error
}

// String returns where the key is, or the error.
func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%v at %v, epoch %d, by topology %d", a.Locality, a.Owner, a.Epoch, a.Decision.Topology)
}

// outcome prints what a home has answered.
type outcome struct {
	found any
	err   error
}

// String returns what was found, or the error.
func (o outcome) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return fmt.Sprint(o.found)
}

// eventLine prints an event of a coordinator.
type eventLine struct{ placement.Event }

// String returns the fields that are set.
func (e eventLine) String() string {
	s := e.Kind.String()
	if e.Key != (placement.Key{}) {
		s += " " + e.Key.String()
	}
	if !e.Owner.IsZero() {
		s += " " + e.Owner.String()
	}
	if e.Epoch != 0 {
		s += fmt.Sprintf(" epoch %d", e.Epoch)
	}
	if e.Request != 0 {
		s += fmt.Sprintf(" request %d", e.Request)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}
