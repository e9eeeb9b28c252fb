// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Options are the options of a [Coordinator]. Only Self is required.
type Options struct {
	// Self is the member, or the client, that the coordinator decides for. Its
	// incarnation must be one that no run of this name has had before.
	Self placement.Owner
	// Address is where the transport of Self listens. Others are told it. A client needs none.
	Address string
	// Strategy chooses which member activates a key. The default is [placement.Rendezvous].
	// All members of a cluster use the same.
	Strategy placement.Strategy
	// RequestTimeout is how long resolves wait for a request before they are
	// answered with a [placement.ErrTimeout]. The default is 10 seconds.
	RequestTimeout time.Duration
	// MaxRequests bounds the requests under way. The default is 100,000.
	MaxRequests int
	// MaxWaiters bounds the resolves that wait for one request. The default is 10,000.
	MaxWaiters int
	// CacheSize is how many locations of activations elsewhere are kept. The
	// default is 100,000.
	CacheSize int
	// MovesPerTick is how many activations that belong to another member by a
	// newer topology are moved in each [Coordinator.Tick]. With 0, which is the
	// default, an activation moves when it is resolved next.
	MovesPerTick int
}

// Validate returns all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if err := (placement.Member{Owner: o.Self, Address: o.Address}).Validate(); err != nil {
		faults = append(faults, fmt.Errorf("the member Self: %w", err))
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"RequestTimeout", int64(o.RequestTimeout)},
		{"MaxRequests", int64(o.MaxRequests)},
		{"MaxWaiters", int64(o.MaxWaiters)},
		{"CacheSize", int64(o.CacheSize)},
		{"MovesPerTick", int64(o.MovesPerTick)},
	} {
		if bound.value < 0 {
			faults = append(faults, fmt.Errorf("the option %s is %d; it must not be negative", bound.name, bound.value))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Strategy == nil {
		o.Strategy = placement.Rendezvous{}
	}
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 10*time.Second)
	o.MaxRequests = cmp.Or(o.MaxRequests, 100_000)
	o.MaxWaiters = cmp.Or(o.MaxWaiters, 10_000)
	o.CacheSize = cmp.Or(o.CacheSize, 100_000)
	return o
}
