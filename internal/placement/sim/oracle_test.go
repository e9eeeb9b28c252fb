// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// oracle sees all processes and the store at once.
type oracle struct {
	world   *world
	counts  Result
	granted map[placement.Key]grant    // the latest
	clean   map[placement.Owner]bool   // that have handed everything back
	values  map[placement.Key]int      // that were written latest
	known   map[placement.Key]int64    // the epoch of the latest lease that its owner was told of
	writers map[placement.Key]*actor   // that wrote latest
	serving map[placement.Key][]*actor // that are in use
	open    map[*process]int           // resolves that wait for an answer
	trace   uint64                     // of all effects and answers: equal runs have equal ones
}

type grant struct {
	epoch   int64
	owner   placement.Owner
	request placement.RequestID
	process *process
}

func newOracle(w *world) oracle {
	return oracle{
		world: w, granted: map[placement.Key]grant{}, clean: map[placement.Owner]bool{}, values: map[placement.Key]int{}, known: map[placement.Key]int64{}, writers: map[placement.Key]*actor{},
		serving: map[placement.Key][]*actor{}, open: map[*process]int{},
	}
}

// checkGrant checks that the epochs of a key only grow. A request that a process repeats gets
// its own epoch again.
func (o *oracle) checkGrant(key placement.Key, g grant) {
	last := o.granted[key]
	if g == last {
		return
	}
	if g.epoch <= last.epoch {
		o.world.fail(EpochReused, "%v: %v is granted epoch %d for request %d; %v had %d for request %d", key, g.owner, g.epoch, g.request, last.owner, last.epoch, last.request)
	}
	o.granted[key] = g
	o.counts.Grants++
}

// checkEffect checks an effect that was applied: one writer in each epoch, in the order
// of the epochs, each of which has seen what was there before.
func (o *oracle) checkEffect(e *effect) {
	a := e.actor
	o.counts.Effects++
	o.addToTrace(uint64(a.epoch), uint64(e.base), uint64(a.process.machine.index))
	last := o.writers[a.key]
	o.writers[a.key] = a
	switch {
	case last != nil && last != a && last.epoch == a.epoch:
		o.world.fail(TwoWriters, "%v and %v", last, a)
	case last != nil && last.epoch > a.epoch:
		o.world.fail(OutOfOrder, "%v wrote, and now %v", last, a)
	case e.base != e.found:
		o.world.fail(LostUpdate, "%v had seen %d, and the value was %d", a, e.base, e.found)
	case e.found != o.values[a.key]:
		o.world.fail(LostUpdate, "%v has found %d, and %d was written", a, e.found, o.values[a.key])
	}
	o.values[a.key] = e.base + 1
}

// noteServed notes that a resolve was answered with an actor, and checks that no other one
// is in use at a live member.
func (o *oracle) noteServed(a *actor) {
	if a.serving {
		return
	}
	a.serving = true
	o.counts.Activations++
	for _, b := range o.serving[a.key] {
		if o.isAlive(a) && o.isAlive(b) {
			o.world.fail(TwoActivations, "%v and %v", b, a)
		}
	}
	o.serving[a.key] = append(o.serving[a.key], a)
}

// isAlive reports whether an actor belongs to a member that is alive in the store.
func (o *oracle) isAlive(a *actor) bool {
	return !a.process.gone && o.world.registry.isAlive(a.process.owner)
}

func (o *oracle) noteEnded(a *actor) {
	o.serving[a.key] = slices.DeleteFunc(o.serving[a.key], func(b *actor) bool { return b == a })
}

// answerBound is how long a resolve waits at most: for the timeout of its request and the tick that
// notices, by the slowest clock. Setting the clock back hides what has passed since the tick
// before.
const answerBound = (requestTimeout+2*tick)*100/95 + 50*time.Millisecond

func (o *oracle) checkInTime(p *process, key placement.Key, waited time.Duration, sets int) {
	o.counts.LongestResolve = max(o.counts.LongestResolve, waited)
	if waited > answerBound+time.Duration(sets)*2*tick {
		o.world.fail(NotAnswered, "%v in %v: not for %v", key, p, waited)
	}
}

// noteStopped notes that a process has handed everything back, and checks after the end of
// the faults that it has no actor left.
func (o *oracle) noteStopped(p *process) {
	o.clean[p.owner] = true
	for _, k := range o.world.keys {
		if a := p.actors[k]; a != nil && o.world.closed {
			o.world.fail(LeftBehind, "%v still runs", a)
		}
	}
}

// checkExit checks that a process that ends in an orderly way has answered all.
func (o *oracle) checkExit(p *process) {
	if n := o.open[p]; n != 0 {
		o.world.fail(NotAnswered, "%v ends and has not answered %d resolves", p, n)
	}
}

// checkAnswer checks the answer of a resolve. It returns false if the caller must not use it.
func (o *oracle) checkAnswer(p *process, key placement.Key, r core.Resolution, err error) bool {
	o.world.tracef("%v resolves %v → %v", p, key, answer{r, err})
	o.addToTrace(uint64(p.machine.index), uint64(r.Epoch), uint64(r.Locality))
	if err != nil || r.Locality == core.Remote {
		return true
	}
	a := p.actors[key]
	if a == nil || a.epoch != r.Epoch || a.ended {
		o.world.fail(NoActivation, "%v in %v, epoch %d; there is %v", key, p, r.Epoch, a)
		return false
	}
	o.noteServed(a)
	return true
}

func (o *oracle) addToTrace(values ...uint64) {
	for _, v := range values {
		o.trace = mix(o.trace ^ v)
	}
}

// Kind is what a [Violation] breaks.
type Kind string

// Kinds of violations.
const (
	EpochReused    Kind = "an epoch was granted twice, or is not greater than one before"
	TwoWriters     Kind = "two activations wrote under one epoch"
	OutOfOrder     Kind = "an effect of an older epoch came after one of a newer"
	LostUpdate     Kind = "an effect overwrote one that it had not seen"
	TwoActivations Kind = "a key was in use at two members that were both alive"
	NoActivation   Kind = "a key resolved to this process, and is not active in it"
	NotAnswered    Kind = "a resolve was not answered"
	AnsweredTwice  Kind = "a resolve was answered twice"
	NotServed      Kind = "a key was not served within the bound"
	Disagreement   Kind = "members do not agree on where a key is"
	LeftBehind     Kind = "something is still held after a clean stop"
	Unordered      Kind = "events are not in order"
	Stuck          Kind = "a request does not end"
	Broken         Kind = "the simulation is broken"
)

// Violation is a broken promise. Running the seed again with the same options
// repeats it.
type Violation struct {
	Kind Kind
	Seed uint64
	At   time.Duration // true time since the beginning of the run
	Text string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("sim: %s: %s (at %v of seed %d)", v.Kind, v.Text, v.At, v.Seed)
}
