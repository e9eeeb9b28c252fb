// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Durations of a run.
const (
	trouble = 2 * time.Second        // before the faults end
	calm    = 500 * time.Millisecond // in which a leader must stay
)

// Run has nodes run through two seconds of faults, and then some without. Its
// error is a [*Violation], or that of Options.Timing.
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
	w.run(trouble, nil)
	n.end()
	w.client.over = true
	settled := w.settle(bound)
	return w.result(settled), w.err()
}

// settle checks that there is a leader within the bound, that one stays, and that entries
// are applied everywhere. It returns how long the first took.
func (w *world) settle(bound time.Duration) time.Duration {
	end := w.Now()
	if !w.awaitLeader(end + bound) {
		return 0
	}
	settled := w.Now() - end
	w.run(end+w.options.longest(w.timing.Config())-w.Now(), nil) // faults have an after-effect: a clock that was set back makes a beat late
	if w.awaitLeader(end + bound) {
		w.checkStays(w.leader())
		w.checkProgress()
	}
	return settled
}

// awaitLeader waits until all follow a leader.
func (w *world) awaitLeader(by time.Duration) bool {
	if w.leader() != nil || w.run(by-w.Now(), func() bool { return w.leader() != nil }) {
		return w.failure == nil
	}
	w.fail(NoLeader, "not by %v, and the faults ended at %v", by, trouble)
	return false
}

func (w *world) checkStays(leader *process) {
	if w.run(calm, func() bool { return w.leader() != leader }) {
		w.fail(Unstable, "%v led, followed by all", leader)
	}
}

// checkProgress checks that one more entry is applied by all.
func (w *world) checkProgress() {
	leader := w.leader()
	if w.failure != nil {
		return
	}
	w.client.propose(leader)
	last := leader.last()
	if !w.run(calm, func() bool { return w.appliedByAll(last) }) {
		w.fail(Stuck, "entry %d is not applied by all after %v", last, calm)
	}
	w.compareLogs()
}

func (w *world) appliedByAll(index uint64) bool {
	for _, p := range w.nodes {
		if !p.up() || p.core.Applied() < index {
			return false
		}
	}
	return true
}

func (w *world) result(settled time.Duration) Result {
	return Result{
		Settled: settled, Terms: w.oracle.highest, Leaders: len(w.oracle.leaders), Elections: w.elections(),
		Committed: len(w.oracle.committed), Reads: w.oracle.answered, Messages: w.network.sent, Crashes: w.oracle.crashes,
		Snapshots: w.oracle.restored, Stalls: w.oracle.stalls, Trace: w.oracle.trace,
	}
}

// elections returns how often a node has begun one. Each begins with a request to all others, for a
// vote or a pre-vote.
func (w *world) elections() int { return w.oracle.requests / (w.options.Nodes - 1) }

func (w *world) err() error {
	if w.failure == nil {
		return nil
	}
	return w.failure
}
