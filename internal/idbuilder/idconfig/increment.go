// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Increment configures IDs that are numbers of one sequence.
type Increment struct {
	// Base is the number before the first ID: that is Base + Delta.
	Base int64 `json:"base"`
	// Delta is the distance of two IDs where a request names none; not 0. It is negative
	// for IDs that descend.
	Delta int64 `json:"delta"`
	// MaxRequestDelta is the largest distance that a request may ask for.
	MaxRequestDelta int64 `json:"max_request_delta"`
	// RandDelta makes distances random, from 1 to the delta.
	RandDelta bool `json:"rand_delta"`
	// Min and Max bound the IDs, inclusively.
	Min int64 `json:"min"`
	Max int64 `json:"max"`

	// Epoch changes with each change that may have moved the sequence back. Processes do not
	// give numbers that they have reserved in an earlier epoch.
	Epoch int64 `json:"-"`
}

// DefaultMaxRequestDelta is the default of max_request_delta, if the delta is not larger.
const DefaultMaxRequestDelta = 100

// magnitude returns the delta without its sign.
func (c *Increment) magnitude() int64 {
	if c.Delta < 0 {
		return -c.Delta
	}
	return c.Delta
}

// Start returns the first ID.
func (c *Increment) Start() int64 { return c.Base + c.Delta }

// Bound returns the last ID that may be given.
func (c *Increment) Bound() int64 {
	if c.Delta < 0 {
		return c.Min
	}
	return c.Max
}

// Reservation returns the reservation of count IDs.
func (c *Increment) Reservation(count int64) store.Reservation {
	return store.Reservation{Start: c.Base, Step: c.Delta, Count: count, Bound: c.Bound()}
}

// storedIncrement is an Increment in the store: with the members that the specification
// lists, and bounds only if there are any.
type storedIncrement struct {
	Base            *int64 `json:"base"`
	Delta           int64  `json:"delta"`
	MaxRequestDelta int64  `json:"max_request_delta"`
	RandDelta       bool   `json:"rand_delta"`
	Min             *int64 `json:"min,omitempty"`
	Max             *int64 `json:"max,omitempty"`
	Epoch           int64  `json:"epoch,omitempty"`
}

func (c *Increment) toStored() storedIncrement {
	s := storedIncrement{Base: &c.Base, Delta: c.Delta, MaxRequestDelta: c.MaxRequestDelta, RandDelta: c.RandDelta, Epoch: c.Epoch}
	if c.Min != math.MinInt64 {
		s.Min = &c.Min
	}
	if c.Max != math.MaxInt64 {
		s.Max = &c.Max
	}
	return s
}

// toIncrement returns the configuration, or the faults of one that this program did not
// store.
func (s storedIncrement) toIncrement() (*Increment, []error) {
	c := &Increment{
		Base: first(0, s.Base), Delta: s.Delta, MaxRequestDelta: s.MaxRequestDelta, RandDelta: s.RandDelta,
		Min: first(math.MinInt64, s.Min), Max: first(math.MaxInt64, s.Max), Epoch: s.Epoch,
	}
	switch {
	case s.Base == nil:
		return nil, []error{fault("base", "it is missing")}
	case c.Delta == 0 || c.Delta == math.MinInt64:
		return nil, []error{fault("delta", "it is %d", c.Delta)}
	case c.MaxRequestDelta < c.magnitude():
		return nil, []error{fault("max_request_delta", "it is %d, less than the delta", c.MaxRequestDelta)}
	}
	return c, nil
}

// epochAfter returns the epoch of a configuration that replaces old: that of old, unless the
// sequence may have moved back since.
func (c *Increment) epochAfter(old *Config) int64 {
	before := old.Increment
	if before == nil || c.namesOtherStart(before) || (c.Delta < 0) != (before.Delta < 0) {
		return old.Version // greater than all epochs before
	}
	return before.Epoch
}

// Rewinds reports whether the request moves the sequence to its base, and that is
// before a value that the sequence has reached.
func (c *Increment) Rewinds(old *Increment, value int64) bool {
	return c.namesOtherStart(old) && c.comesBefore(c.Base, value)
}

// Advances reports whether the request moves the sequence ahead, to its base.
func (c *Increment) Advances(old *Increment, value int64) bool {
	return c.namesOtherStart(old) && c.comesBefore(value, c.Base)
}

// namesOtherStart reports whether the request names another start than old. A request that
// changes only the delta repeats the base in the specification's dialect, and the first ID in
// the deployed worker's.
func (c *Increment) namesOtherStart(old *Increment) bool {
	return c.Base != old.Base && c.Start() != old.Start()
}

// comesBefore reports whether a comes before b in the direction of the sequence.
func (c *Increment) comesBefore(a, b int64) bool {
	if c.Delta < 0 {
		return a > b
	}
	return a < b
}

// incrementRequest has the parameters of both dialects.
type incrementRequest struct {
	request
	Base            *int64 `json:"base"`
	Start           *int64 `json:"start"`
	Delta           *int64 `json:"delta"`
	Step            *int64 `json:"step"`
	MaxRequestDelta *int64 `json:"max_request_delta"`
	RandDelta       bool   `json:"rand_delta"`
	Min             *int64 `json:"min"`
	Max             *int64 `json:"max"`
}

// incrementReader turns a request into an Increment.
type incrementReader struct {
	from   *incrementRequest
	made   Increment
	faults []error
}

func (r *incrementRequest) toConfig() (*Increment, []error) {
	c := &incrementReader{from: r, made: Increment{RandDelta: r.RandDelta}}
	if r.Base != nil && r.Start != nil {
		c.faults = append(c.faults, twice("base", "start"))
	}
	if r.Delta != nil && r.Step != nil {
		c.faults = append(c.faults, twice("delta", "step"))
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	baseKnown, deltaKnown, boundsKnown := c.hasBase(), c.setDelta(), c.setBounds()
	if deltaKnown && baseKnown && c.setBase() && boundsKnown {
		c.checkFirst()
	}
	return &c.made, c.faults
}

func (r *incrementReader) addFault(param, reason string, args ...any) bool {
	r.faults = append(r.faults, fault(param, reason, args...))
	return false
}

// hasBase reports whether the request has a base. The deployed worker's dialect has a
// default.
func (r *incrementReader) hasBase() bool {
	if r.from.Base == nil && r.from.Start == nil && r.from.isSpecified() {
		return r.addFault("base", "it is missing; allowed are %d to %d", int64(math.MinInt64), int64(math.MaxInt64))
	}
	return true
}

// setDelta reads delta, or step, which may be negative, and max_request_delta.
func (r *incrementReader) setDelta() bool {
	r.made.Delta = first(1, r.from.Delta, r.from.Step)
	name, delta := "delta", r.made.Delta
	switch {
	case r.from.Step != nil:
		name = "step"
		if delta == 0 || delta == math.MinInt64 {
			return r.addFault("step", "it is %d; allowed are %d to %d, but not 0", delta, -math.MaxInt64, int64(math.MaxInt64))
		}
	case delta < 1:
		return r.addFault("delta", "it is %d; allowed are 1 to %d (for IDs that descend, give a negative step)", delta, int64(math.MaxInt64))
	}
	r.made.MaxRequestDelta = first(max(DefaultMaxRequestDelta, r.made.magnitude()), r.from.MaxRequestDelta)
	if most := r.made.MaxRequestDelta; most < r.made.magnitude() {
		r.addFault("max_request_delta", "it is %d, less than the %s; allowed are %d to %d", most, name, r.made.magnitude(), int64(math.MaxInt64))
	}
	return true
}

// setBounds reads min and max. The deployed worker's default for min is 1.
func (r *incrementReader) setBounds() bool {
	low := int64(math.MinInt64)
	if !r.from.isSpecified() {
		low = 1
	}
	r.made.Min, r.made.Max = first(low, r.from.Min), first(math.MaxInt64, r.from.Max)
	if r.made.Min > r.made.Max {
		name := "max"
		if r.from.Min != nil {
			name = "min"
		}
		return r.addFault(name, "min is %d, greater than max, %d", r.made.Min, r.made.Max)
	}
	return true
}

// setBase reads base, or start, which is the first ID itself.
func (r *incrementReader) setBase() bool {
	if r.from.Base != nil {
		r.made.Base = *r.from.Base
		return true
	}
	start := first(1, r.from.Start)
	r.made.Base = start - r.made.Delta
	if (r.made.Base < start) != (r.made.Delta > 0) {
		return r.addFault("start", "%d less the step, %d, is no 64-bit number", start, r.made.Delta)
	}
	return true
}

// checkFirst refuses a sequence of which not even the first ID is within the bounds.
func (r *incrementReader) checkFirst() {
	name := "start"
	if r.from.Base != nil {
		name = "base"
	}
	first := r.made.Start()
	switch overflows := (first > r.made.Base) != (r.made.Delta > 0); {
	case overflows:
		r.addFault(name, "the first ID, %d and %d, is no 64-bit number", r.made.Base, r.made.Delta)
	case first < r.made.Min || first > r.made.Max:
		r.addFault(name, "the first ID is %d; allowed are %d to %d, from min to max", first, r.made.Min, r.made.Max)
	}
}

// first returns the first given value, or the default.
func first[T any](value T, given ...*T) T {
	for _, p := range given {
		if p != nil {
			return *p
		}
	}
	return value
}
