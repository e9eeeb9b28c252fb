// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Result has the counts of a run without a violation.
type Result struct {
	Settled   time.Duration // after the faults' end, until a leader was followed by all
	Terms     uint64        // the highest one that had a leader
	Leaders   int           // terms that had a leader
	Elections int           // that nodes have begun
	Committed int           // entries
	Reads     int           // that may be answered
	Messages  int
	Crashes   int
	Snapshots int    // that a node took over from another
	Stalls    int    // of processes, that rafttimer noticed
	Trace     uint64 // of all role changes: equal runs have equal ones
}

// Add returns the sums of two results, without the trace.
func (r Result) Add(s Result) Result {
	return Result{
		Settled: r.Settled + s.Settled, Terms: r.Terms + s.Terms, Leaders: r.Leaders + s.Leaders, Elections: r.Elections + s.Elections,
		Committed: r.Committed + s.Committed, Reads: r.Reads + s.Reads, Messages: r.Messages + s.Messages,
		Crashes: r.Crashes + s.Crashes, Snapshots: r.Snapshots + s.Snapshots, Stalls: r.Stalls + s.Stalls,
	}
}
