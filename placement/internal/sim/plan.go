// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"
)

// plan is all that is done to a world from outside, in the order of time.
type plan []step

// step is one thing that is done.
type step struct {
	at    time.Duration
	do    action
	who   int           // machine
	other int           // machine
	key   int           // of a call
	lasts time.Duration // until it is undone
	by    time.Duration // that a clock is set forwards
}

type action string

const (
	actCall     action = "call"
	actCrash    action = "crash"
	actPause    action = "pause"
	actCut      action = "cut off from a machine"
	actIsolate  action = "cut off from the store"
	actLossy    action = "lose replies"
	actDouble   action = "double"
	actSlow     action = "delay"
	actSetClock action = "set the clock"
	actRecover  action = "the store recovers"
	actDeploy   action = "deploy"
	actLeave    action = "leave"
	actChange   action = "change labels"
	actFail     action = "executors fail"
	actEvict    action = "evict"
)

// Durations of a run.
const (
	trouble = 30 * time.Second // before the faults end
	nemesis = 600 * time.Millisecond
)

// weights says how often the faults occur.
var weights = []struct {
	do     action
	weight int
}{
	{actCrash, 4},
	{actPause, 8},
	{actCut, 4},
	{actIsolate, 4},
	{actLossy, 5},
	{actDouble, 4},
	{actSlow, 4},
	{actSetClock, 4},
	{actRecover, 2},
	{actDeploy, 4},
	{actLeave, 3},
	{actChange, 3},
	{actFail, 2},
	{actEvict, 2},
}

// newPlan returns the plan of a seed.
func newPlan(seed uint64, machines, keys, calls int) plan {
	d := newDice(seed, aboutPlan)
	var p plan
	for range calls {
		p = append(p, step{at: d.between(0, trouble), do: actCall, who: d.IntN(machines), key: min(d.IntN(keys), d.IntN(keys))})
	}
	for at := d.between(time.Second, 3*time.Second); at < trouble; at += d.between(0, 2*nemesis) {
		p = append(p, fault(d, at, machines))
	}
	slices.SortStableFunc(p, func(a, b step) int { return int(a.at - b.at) })
	return p
}

func fault(d dice, at time.Duration, machines int) step {
	s := step{at: at, do: pick(d), who: d.IntN(machines), lasts: d.between(0, 2*time.Second)}
	s.other = (s.who + 1 + d.IntN(max(machines-1, 1))) % machines
	if d.chance(0.3) { // longer than leases and requests last
		s.lasts = d.between(0, 10*time.Second)
	}
	s.by = d.between(-10*time.Second, 10*time.Second)
	return s
}

func pick(d dice) action {
	sum := 0
	for _, w := range weights {
		sum += w.weight
	}
	n := d.IntN(sum)
	for _, w := range weights {
		if n -= w.weight; n < 0 {
			return w.do
		}
	}
	panic("unreachable: n is below the sum")
}

// String says what the step does, for traces.
func (s step) String() string {
	switch s.do {
	case actCall:
		return fmt.Sprintf("machine %d calls key %d", s.who, s.key)
	case actCut:
		return fmt.Sprintf("machine %d: %s, %d, for %v", s.who, s.do, s.other, s.lasts)
	case actSetClock:
		return fmt.Sprintf("machine %d: %s by %v", s.who, s.do, s.by)
	}
	return fmt.Sprintf("machine %d: %s for %v", s.who, s.do, s.lasts)
}
