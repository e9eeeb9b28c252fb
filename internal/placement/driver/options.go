// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// Options configure a [Driver]. The zero value is ready to use.
type Options struct {
	// Concurrency is how many commands are executed at once; others wait in their
	// order. A command that has not returned after CommandTimeout no longer counts. The
	// default is 64.
	Concurrency int
	// CommandTimeout is how long a command may take. Then its context ends, and for the
	// coordinator it has failed, whether it returns or not. If it returns later, the
	// coordinator also gets that result, and gives back what it does not need.
	// The default is 10 seconds.
	CommandTimeout time.Duration
	// MaxHung is how many commands may run beyond CommandTimeout. While so many do, new
	// claims fail with placement.ErrOverloaded. The default is 1,000.
	MaxHung int

	// ClaimSpread is a time after StartMember. A claim in it first waits for a random part of what
	// is left of it, so that the members of a cluster that join again after an outage, which has
	// ended all activations, do not claim all keys at once. A waiting claim takes none of the
	// places of Concurrency, and Stop waits for it. Keep it well below
	// core.Options.RequestTimeout. 0: claims do not wait.
	ClaimSpread time.Duration

	// IdleAfter is the time after which an unused activation is ended. 0: idle activations
	// are not ended.
	IdleAfter time.Duration
	// Tick is how often [Driver.Run] calls [Driver.Tick]. The default is 1 second.
	Tick time.Duration
	// Coalesce is how long topologies wait after one has come into force; then the newest
	// comes into force. Negative: each does at once. The default is 100 ms.
	Coalesce time.Duration
	// Backoff bounds the pauses between the attempts of [Driver.Resolve].
	Backoff Backoff

	// Events is called with each event of the coordinator, once, in their order, by one
	// goroutine at a time; it may call the driver. See the package's documentation
	// about slow handlers. nil: events are dropped.
	Events func(placement.Event)
	// CacheEvents is called with the changes of the cache of locations, in the same way.
	CacheEvents func(core.CacheEvent)
	// EventBuffer is how many events of each of the two may wait for their handler
	// before new resolves wait for it. The default is 65,536.
	EventBuffer int

	// Logger gets the events for operators: commands that panic or do not return, and
	// refused topologies. nil means [slog.Default].
	Logger *slog.Logger
	// Now is the clock; nil means [time.Now]. Pauses and timeouts go by the system's clock.
	Now func() time.Time
	// Runner executes commands in place of goroutines, for simulators. See [Runner].
	Runner Runner
}

// Backoff is how long [Driver.Resolve] waits between its attempts: a random time
// from 0 to a limit, which doubles with each attempt (full jitter, as in
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
type Backoff struct {
	First time.Duration // the limit after the first attempt; the default is 5 ms
	Max   time.Duration // the greatest limit; the default is 1 second
}

// Runner executes commands for a simulator, which decides when each command runs and when
// the coordinator gets its result: work calls the home or the executor and returns the
// result; done gives it to the driver. Both may be called at any time, by any goroutine,
// also from within Run; done may be called several times, or never.
//
// A driver with a Runner starts no goroutine and no timer: Concurrency,
// CommandTimeout, MaxHung and ClaimSpread have no effect, topologies are not coalesced, and the
// goroutine that calls the driver calls the handlers of events before its call
// returns (if a handler calls the driver: before the outer call returns).
type Runner interface {
	Run(work func(context.Context) core.CommandResult, done func(core.CommandResult))
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Concurrency", int64(o.Concurrency)},
		{"CommandTimeout", int64(o.CommandTimeout)},
		{"MaxHung", int64(o.MaxHung)},
		{"ClaimSpread", int64(o.ClaimSpread)},
		{"IdleAfter", int64(o.IdleAfter)},
		{"Tick", int64(o.Tick)},
		{"Backoff.First", int64(o.Backoff.First)},
		{"Backoff.Max", int64(o.Backoff.Max)},
		{"EventBuffer", int64(o.EventBuffer)},
	} {
		if field.value < 0 {
			faults = append(faults, fmt.Errorf("driver: %s is %d, must not be negative", field.name, field.value))
		}
	}
	if b := o.withDefaults().Backoff; b.First > b.Max {
		faults = append(faults, fmt.Errorf("driver: Backoff.First is %v, must not be greater than Backoff.Max, %v", b.First, b.Max))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	o.Concurrency = cmp.Or(o.Concurrency, 64)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, 10*time.Second)
	o.MaxHung = cmp.Or(o.MaxHung, 1000)
	o.Tick = cmp.Or(o.Tick, time.Second)
	o.Coalesce = cmp.Or(o.Coalesce, 100*time.Millisecond)
	o.Backoff.First = cmp.Or(o.Backoff.First, 5*time.Millisecond)
	o.Backoff.Max = cmp.Or(o.Backoff.Max, time.Second)
	o.EventBuffer = cmp.Or(o.EventBuffer, 1<<16)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
