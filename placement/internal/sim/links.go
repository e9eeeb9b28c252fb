// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"
)

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

// reaches reports whether a process reaches the store now.
func (w *world) reaches(m *machine) bool { return m.isolated == 0 && w.recovering == 0 }

// loses reports whether a reply is lost.
func (w *world) loses(d dice) bool {
	return !w.calm && (w.lossy > 0 && d.chance(0.3) || d.chance(0.005))
}

// ask has something done in the store, and then something in the process. With an
// error the outcome is unknown. A request that was sent is done even if the
// process is paused or ends.
func ask[T any](p *process, what string, do func() T, done func(T, error)) {
	w, d := p.world, p.dice(aboutMember)
	w.after(w.latency(d), func() {
		var answer T
		if !w.reaches(p.machine) {
			w.tracef("%v does not reach the store: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		answer = do()
		if w.loses(d) {
			w.oracle.counts.LostReplies++
			w.tracef("%v: the reply is lost: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		p.after(w.latency(d), func() { done(answer, nil) })
	})
}

// send has something happen in the process that runs on a machine when a message
// arrives there. absent is called, after a while, if none does or the message is lost: it can be nil.
func (p *process) send(to *machine, do func(*process), absent func()) {
	w, d := p.world, p.dice(aboutMessage)
	arrive := func() {
		if q := to.process; q != nil && q.driver != nil && p.machine.cut[to.index] == 0 {
			q.happen(func() { do(q) })
		} else if absent != nil {
			p.after(w.latency(d), absent)
		}
	}
	if w.loses(d) {
		w.oracle.counts.LostMessages++
		return
	}
	w.after(w.latency(d), arrive)
	if w.double > 0 && d.chance(0.3) {
		w.oracle.counts.Doubled++
		w.after(w.latency(d), arrive)
	}
}
