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
