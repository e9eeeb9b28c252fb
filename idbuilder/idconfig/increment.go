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
}

// DefaultMaxRequestDelta is the max_request_delta of a configuration that gives
// none and whose delta is not larger.
const DefaultMaxRequestDelta = 100

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

func (r *incrementRequest) config() (*Increment, []error) {
	var faults []error
	refuse := func(err error) { faults = append(faults, err) }
	if r.Base != nil && r.Start != nil {
		refuse(twice("base", "start"))
	}
	if r.Delta != nil && r.Step != nil {
		refuse(twice("delta", "step"))
	}
	c := &Increment{Delta: first(1, r.Delta, r.Step), RandDelta: r.RandDelta, Min: math.MinInt64, Max: first(math.MaxInt64, r.Max)}
	delta := "delta"
	if r.Step != nil {
		delta = "step"
	}
	switch {
	case c.Delta == 0, c.Delta == math.MinInt64:
		refuse(fault(delta, "it is %d; allowed are %d to %d but 0", c.Delta, -math.MaxInt64, math.MaxInt64))
		return c, faults
	case c.Delta < 0 && r.Delta != nil:
		refuse(fault("delta", "it is %d; allowed are 1 to %d (step may be negative)", c.Delta, int64(math.MaxInt64)))
	}
	c.setBase(r, refuse)
	c.setBounds(r, refuse)
	c.MaxRequestDelta = first(max(DefaultMaxRequestDelta, c.magnitude()), r.MaxRequestDelta)
	if c.MaxRequestDelta < c.magnitude() {
		refuse(fault("max_request_delta", "it is %d, less than the %s %d; allowed are %d to %d", c.MaxRequestDelta, delta, c.Delta, c.magnitude(), int64(math.MaxInt64)))
	}
	return c, faults
}

// setBase takes base, or start, which is the first ID itself.
func (c *Increment) setBase(r *incrementRequest, refuse func(error)) {
	switch {
	case r.Base != nil:
		c.Base = *r.Base
	case r.Start == nil && r.specified():
		refuse(fault("base", "it is missing; allowed are %d to %d", int64(math.MinInt64), int64(math.MaxInt64)))
	default:
		start := first(1, r.Start)
		c.Base = start - c.Delta
		if (c.Base < start) != (c.Delta > 0) {
			refuse(fault("start", "%d less the step %d is no 64-bit number", start, c.Delta))
		}
	}
}

// setBounds takes min and max. The deployed worker's default for min is 1.
func (c *Increment) setBounds(r *incrementRequest, refuse func(error)) {
	if r.Min != nil {
		c.Min = *r.Min
	} else if !r.specified() {
		c.Min = 1
	}
	if c.Min > c.Max {
		refuse(fault("min", "it is %d, greater than max, %d", c.Min, c.Max))
		return
	}
	first := c.Base + c.Delta
	overflows := (first > c.Base) != (c.Delta > 0)
	if name := r.baseName(); overflows || first < c.Min || first > c.Max {
		refuse(fault(name, "the first ID would be outside min and max, %d to %d", c.Min, c.Max))
	}
}

func (r *incrementRequest) baseName() string {
	if r.Base != nil || r.specified() {
		return "base"
	}
	return "start"
}

// magnitude is the delta without its sign.
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

// first returns the first value that is there, or the default.
func first[T any](value T, given ...*T) T {
	for _, p := range given {
		if p != nil {
			return *p
		}
	}
	return value
}
