// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/placement"
)

// Options say how a [Node] takes part. The zero Options are useful.
type Options struct {
	// Name names the member. A member that restarts under its name waits until the lease of
	// its former run has lapsed, unless that left. Default: the address of the actor system.
	// Set a name if the port changes with each start: the database keeps names for ever.
	Name string
	// Labels are for the strategy, such as a role or a zone.
	Labels map[string]string
	// Strategy chooses the member that activates an identity. All nodes of a
	// cluster use the same. Default: rendezvous hashing.
	Strategy placement.Strategy
	// Layer and Path are the directory of members and claims in the database, which are in
	// the directories members and placement below it. All nodes of a cluster use the same;
	// clusters that share a database use different ones. Default: directory.Root(), kazahana.
	Layer *directory.Layer
	Path  []string
	// Duration is how long other members treat a member as alive after it has stopped renewing.
	// A member that is cut off ends its actors when this time has passed since its last renewal.
	// Default: 10 s; at least 300 ms.
	Duration time.Duration
	// Timeout is how long one lookup waits for an activation. Default: 5 s.
	Timeout time.Duration
	// StartTimeout is how long the provider waits until the member is listed. It
	// should be greater than Duration. Default: 30 s.
	StartTimeout time.Duration
	// StopTimeout is how long Shutdown waits until all actors have stopped and
	// their claims are back. What is left then is free once the member has lapsed. Default: 10 s.
	StopTimeout time.Duration
	// IdleAfter ends activations whose actor has handled no message for so long, at the
	// latest after twice that time. Default: never. An actor may stop itself whenever it wants.
	IdleAfter time.Duration
	// Events gets the coordinator's events, in order. It must not block for long.
	Events func(placement.Event)
	// Logger gets the errors in the background. Default: the actor system's.
	Logger *slog.Logger
}

// The defaults and the bounds of [Options].
const (
	defaultDuration     = 10 * time.Second
	minDuration         = 300 * time.Millisecond
	defaultTimeout      = 5 * time.Second
	defaultStartTimeout = 30 * time.Second
	defaultStopTimeout  = 10 * time.Second
)

// Validate returns all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", o.Timeout}, {"StartTimeout", o.StartTimeout}, {"StopTimeout", o.StopTimeout}, {"IdleAfter", o.IdleAfter}} {
		if option.value < 0 {
			faults = append(faults, fmt.Errorf("protoactor: %s is %v; it must not be negative", option.name, option.value))
		}
	}
	if o.Duration != 0 && o.Duration < minDuration {
		faults = append(faults, fmt.Errorf("protoactor: Duration is %v; it must be at least %v", o.Duration, minDuration))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Path == nil {
		o.Path = []string{"kazahana"}
	}
	o.Duration = cmp.Or(o.Duration, defaultDuration)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	o.StopTimeout = cmp.Or(o.StopTimeout, defaultStopTimeout)
	return o
}
