// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Result is what a run has seen.
type Result struct {
	Resolves, Calls, Handled           int // Handled calls were answered with an effect
	Commands, Expired                  int
	Grants, Activations                int
	Effects, Fenced                    int // writes that were applied, and that a fence refused
	Crashes, Pauses, Cuts, Isolations  int
	LostReplies, LostMessages, Doubled int
	ClockJumps, Recoveries             int
	Deployments, Joins, Leaves         int
	Evictions, Lost                    int // members that were evicted, and that noticed that they may be
	ExecutorFailures                   int
	Moves, Passivations, GivenBack     int
	TimedOut, Topologies, Events       int

	Settled        time.Duration // after the faults' end, until each member had reached each key
	LongestResolve time.Duration
	Trace          uint64 // of all effects and answers: equal runs have equal ones
}

// Add adds the counts of another run, and takes the longer times.
func (r *Result) Add(s Result) {
	sums, others := r.counters(), s.counters()
	for i := range sums {
		*sums[i] += *others[i]
	}
	r.Settled, r.LongestResolve = max(r.Settled, s.Settled), max(r.LongestResolve, s.LongestResolve)
	r.Trace ^= s.Trace
}

func (r *Result) counters() []*int {
	return []*int{
		&r.Resolves, &r.Calls, &r.Handled, &r.Commands, &r.Expired, &r.Grants, &r.Activations, &r.Effects, &r.Fenced,
		&r.Crashes, &r.Pauses, &r.Cuts, &r.Isolations, &r.LostReplies, &r.LostMessages, &r.Doubled,
		&r.ClockJumps, &r.Recoveries, &r.Deployments, &r.Joins, &r.Leaves, &r.Evictions, &r.Lost,
		&r.ExecutorFailures, &r.Moves, &r.Passivations, &r.GivenBack, &r.TimedOut, &r.Topologies, &r.Events,
	}
}
