// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

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
