// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Stop makes the driver refuse resolves, answers those that wait with
// placement.ErrStopped, and hands everything back: activations end, their entries are
// removed, leases are released. It returns once that is done, or with a
// *[StopError] when ctx ends; if ctx has ended before, it begins and does not
// wait. Calling it again waits again. Steps that fail because a home cannot be reached are
// repeated, at once and then after pauses of one to four seconds, for as long as Stop or Run
// runs.
//
// When it has returned nil, no goroutine of the driver runs any more except for
// commands that do not return, and the handlers of events: see [Driver.Flush].
func (d *Driver) Stop(ctx context.Context) error {
	err := d.callCore(d.core.Stop)
	d.dropTopologies()
	if err != nil && !errors.Is(err, placement.ErrStopped) { // it was stopped before
		return err
	}
	done := d.watchHandback()
	if d.options.Runner != nil {
		return d.checkLeft(ctx, done)
	}
	ticks := time.NewTicker(d.options.Tick)
	defer ticks.Stop()
	for ctx.Err() == nil {
		select {
		case <-done:
			return nil
		case <-ticks.C:
			d.Tick(d.options.Now())
		case <-ctx.Done():
		}
	}
	return d.checkLeft(ctx, done)
}

// watchHandback returns a channel that is closed once the coordinator holds nothing.
func (d *Driver) watchHandback() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	done := d.idle
	d.signalIdle()
	return done
}

// signalIdle wakes Stop when the coordinator holds nothing. The caller holds d.mu.
func (d *Driver) signalIdle() {
	if d.idle != nil && d.core.Held() == 0 {
		close(d.idle)
		d.idle = nil
	}
}

// checkLeft returns a *StopError unless everything was handed back.
func (d *Driver) checkLeft(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	s := d.Snapshot()
	err := &StopError{Held: s.Held, Requests: s.Requests[:min(len(s.Requests), 100)], Err: context.Cause(ctx)}
	if err.Err == nil {
		err.Err = errors.New("the runner has commands that are not finished")
	}
	return err
}

// Run calls [Driver.Tick] every Options.Tick until ctx ends, whose cause it
// returns. A driver needs it for time-outs, passivation and moves.
func (d *Driver) Run(ctx context.Context) error {
	ticks := time.NewTicker(d.options.Tick)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			d.Tick(d.options.Now())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
