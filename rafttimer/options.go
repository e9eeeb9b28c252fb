// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "math/rand/v2"

// Options configure a [Driver]. The zero value is ready to use.
type Options struct {
	// Config says how long the timers run.
	Config Config

	// Source is what election timeouts are drawn from. Give each node another
	// seed. The Driver alone may use it. The default value is seeded at random.
	Source rand.Source

	// Time is the time to go by. The default value is the system's clock, in one
	// goroutine with one timer. With another provider, callbacks run where that
	// runs its own.
	Time TimeProvider

	// OnElectionTimeout, OnHeartbeat and OnStall are called for events, one at a
	// time; they say what a role's timers do. They may call every method of the
	// Driver. While one runs no other does, so that one that blocks makes the
	// next events late. The default value, nil, gives the events of its kind to
	// [Driver.Events].
	OnElectionTimeout func(Event)
	OnHeartbeat       func(Event)
	OnStall           func(Event)

	// OnPanic is called if a callback panics; the timers go on. The default
	// value prints value and stack with package log. A panic of OnPanic
	// itself is not recovered.
	OnPanic func(*PanicError)
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error { return o.Config.Validate() }
