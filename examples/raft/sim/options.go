// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// Options configure a run. The zero value runs five nodes on rafttimer's
// defaults, without faults.
type Options struct {
	Nodes  int              // the default value is 5
	Timing rafttimer.Config // of every node
	Sticky bool             // CheckQuorum and PreVote

	// Ticks makes etcd/raft's own timers run the group instead of rafttimer.
	Ticks *Ticks

	Network Network
	// Drift is the largest deviation of a clock's rate, 0.2 for clocks that go
	// between 20 % slow and 20 % fast.
	Drift float64
	// Hiccup is the mean time after which each node stands still, for at most HiccupFor. The default
	// value, 0, is never.
	Hiccup    time.Duration
	HiccupFor time.Duration

	Mutation Mutation
}

// Ticks are etcd/raft's own timers.
type Ticks struct {
	Every     time.Duration
	Election  int // ticks
	Heartbeat int // ticks
}

// Network has the properties of the network.
type Network struct {
	MinDelay, MaxDelay time.Duration
	Loss               float64 // probability
	Duplicate          float64 // probability
	Straggle           float64 // probability of a delay up to twenty times MaxDelay
}

// Mutation is a fault of the program. The oracle must notice each.
type Mutation int

// Mutations.
const (
	None         Mutation = iota
	ForgetVotes           // the disk does not keep votes
	LoseTail              // the disk does not keep the last entry over a crash
	NeverContact          // the timers get no contact
	LeaseReads            // a leader answers reads without asking the others
	LoseAlarm             // an alarm that comes too early, because of a contact, is not set again
	CountTicks            // etcd/raft's ticks run together with rafttimer, one for each heartbeat interval
)

const defaultNodes = 5

func (o Options) withDefaults() Options {
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	o.Network.MaxDelay = max(o.Network.MaxDelay, o.Network.MinDelay)
	return o
}

// tickInterval returns the interval of ticks; 0 is none.
func (o Options) tickInterval(t rafttimer.Config) time.Duration {
	switch {
	case o.Ticks != nil:
		return o.Ticks.Every
	case o.Mutation == CountTicks:
		return t.HeartbeatInterval
	}
	return 0
}

// longestTimeout returns the longest election timeout that a node can draw, in true time.
func (o Options) longestTimeout(t rafttimer.Config) time.Duration {
	d := t.ElectionTimeoutMax
	if t.BackoffFactor > 1 {
		d = time.Duration(float64(d) * t.BackoffLimit)
	}
	return time.Duration(float64(d) / (1 - o.Drift))
}

// Bound returns the time within which a leader is followed by all nodes once all faults have
// ended: eight times the longest election timeout by the slowest clock. An election can fail, so
// that no bound is certain; of 60,000 groups the slowest took a quarter of it.
func (o Options) Bound() (time.Duration, error) {
	timing, err := o.Timing.WithDefaults()
	if err != nil {
		return 0, err
	}
	return 8 * o.longestTimeout(timing), nil
}
