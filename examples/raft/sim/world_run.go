// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Durations of a run.
const (
	trouble = 2 * time.Second        // before the faults end
	calm    = 500 * time.Millisecond // in which a leader must stay
)

// Run runs nodes through two seconds of faults, and then some without. Its error is a [*Violation], or
// that of Options.Timing.
func Run(seed uint64, o Options) (Result, error) {
	bound, err := o.Bound()
	if err != nil {
		return Result{}, err
	}
	w, err := newWorld(seed, o)
	if err != nil {
		return Result{}, err
	}
	n := nemesis{world: w}
	w.crashed = n.restartSoon
	n.start()
	w.client.start()
	w.runUntil(trouble, nil)
	n.endFaults()
	w.client.over = true
	settled := w.checkRecovery(bound)
	return w.result(settled), w.err()
}

// checkRecovery checks that there is a leader within the bound, that one stays, and that entries are
// applied everywhere. It returns the time until the leader.
func (w *world) checkRecovery(bound time.Duration) time.Duration {
	end := w.Now()
	if !w.awaitLeader(end + bound) {
		return 0
	}
	settled := w.Now() - end
	w.runUntil(end+w.options.longestTimeout(w.timing)-w.Now(), nil) // faults have after-effects: a clock that was set back makes a heartbeat late
	if w.awaitLeader(end + bound) {
		w.checkStays(w.leader())
		w.checkProgress()
	}
	return settled
}

// awaitLeader waits until all nodes follow a leader.
func (w *world) awaitLeader(by time.Duration) bool {
	if w.leader() != nil || w.runUntil(by-w.Now(), func() bool { return w.leader() != nil }) {
		return w.failure == nil
	}
	w.fail(NoLeader, "not by %v, and the faults ended at %v", by, trouble)
	return false
}

func (w *world) checkStays(leader *process) {
	if w.runUntil(calm, func() bool { return w.leader() != leader }) {
		w.fail(Unstable, "%v led, followed by all", leader)
	}
}

// checkProgress checks that all nodes apply one more entry.
func (w *world) checkProgress() {
	leader := w.leader()
	if w.failure != nil {
		return
	}
	w.client.propose(leader)
	last := leader.lastIndex()
	if !w.runUntil(calm, func() bool { return w.appliedByAll(last) }) {
		w.fail(Stuck, "entry %d is not applied by all after %v", last, calm)
	}
	w.compareLogs()
}

func (w *world) appliedByAll(index uint64) bool {
	for _, p := range w.nodes {
		if !p.isUp() || p.core.Applied() < index {
			return false
		}
	}
	return true
}

func (w *world) result(settled time.Duration) Result {
	return Result{
		Settled: settled, Terms: w.oracle.highest, Leaders: len(w.oracle.leaders), Elections: w.countElections(),
		Committed: len(w.oracle.committed), Reads: w.oracle.answered, Messages: w.network.sent, Crashes: w.oracle.crashes,
		Snapshots: w.oracle.restored, Stalls: w.oracle.stalls, Trace: w.oracle.trace,
	}
}

// countElections returns the number of elections. Each begins with a request to all other nodes, for a vote
// or a pre-vote.
func (w *world) countElections() int { return w.oracle.requests / (w.options.Nodes - 1) }

func (w *world) err() error {
	if w.failure == nil {
		return nil
	}
	return w.failure
}
