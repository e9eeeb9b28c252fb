// SPDX-License-Identifier: Apache-2.0

package sim

// sendTo sends a message that runs do in the process on a machine. If no process runs there
// or the link is cut, absent is called after a while; it can be nil. A lost message calls
// neither.
func (p *process) sendTo(to *machine, do func(*process), absent func()) {
	w, d := p.world, p.dice(aboutMessage)
	arrive := func() {
		if q := to.process; q != nil && q.driver != nil && p.machine.cut[to.index] == 0 {
			q.runNow(func() { do(q) })
		} else if absent != nil {
			p.after(w.latency(d), absent)
		}
	}
	if w.losesReply(d) {
		w.oracle.counts.LostMessages++
		return
	}
	w.After(w.latency(d), arrive)
	if w.double > 0 && d.chance(0.3) {
		w.oracle.counts.Doubled++
		w.After(w.latency(d), arrive)
	}
}

// ask runs do in the store, and then done in the process. With an error the outcome is
// unknown. A request that was sent is executed even if the process is paused or ends.
func ask[T any](p *process, what string, do func() T, done func(T, error)) {
	w, d := p.world, p.dice(aboutMember)
	w.After(w.latency(d), func() {
		var answer T
		if !w.reachesStore(p.machine) {
			w.tracef("%v does not reach the store: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		answer = do()
		if w.losesReply(d) {
			w.oracle.counts.LostReplies++
			w.tracef("%v: the reply is lost: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		p.after(w.latency(d), func() { done(answer, nil) })
	})
}
