// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"
)

// Takeover has the costs of replacing a leader that has crashed.
type Takeover struct {
	Took      time.Duration // from the crash until another node leads, in true time
	Elections int           // that nodes began in that time

	Watched  time.Duration // before the crash, while there was a leader
	Needless int           // elections that nodes began in that time
}

// errNoTakeover says that a group had no leader for a hundred election timeouts.
var errNoTakeover = errors.New("sim: no leader for a hundred election timeouts")

// RunTakeover runs a group with a leader for five to ten of the longest election timeouts, and then
// crashes the leader for good. The faults of the options last from beginning to end.
func RunTakeover(seed uint64, o Options) (Takeover, error) {
	w, err := newWorld(seed, o)
	if err != nil {
		return Takeover{}, err
	}
	unit := o.longestTimeout(w.timing)
	if !w.runUntil(100*unit, func() bool { return w.leader() != nil }) {
		return Takeover{}, errors.Join(errNoTakeover, w.err())
	}
	t := Takeover{Watched: w.between(5*unit, 10*unit), Needless: -w.countElections()}
	w.runUntil(t.Watched, nil)
	t.Needless += w.countElections()
	w.awaitAnyLeader(100 * unit)
	return w.replaceLeader(t, 100*unit)
}
