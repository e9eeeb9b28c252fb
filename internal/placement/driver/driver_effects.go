// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
)

// callCore calls the coordinator and applies the outcome.
func (d *Driver) callCore(call func(now time.Time) (core.Outcome, error)) error {
	e, err := d.effectsOf(call)
	d.applyEffects(e)
	return err
}

// effectsOf calls the coordinator and keeps the outcome. A panic, of Options.Now for example,
// leaves the driver unlocked.
func (d *Driver) effectsOf(call func(now time.Time) (core.Outcome, error)) (effects, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out, err := call(d.options.Now())
	return d.takeOutcome(out), err
}

func (d *Driver) notifyCore(call func(now time.Time) core.Outcome) {
	_ = d.callCore(func(now time.Time) (core.Outcome, error) { return call(now), nil })
}

// takeOutcome copies an outcome, which is valid until the next call of the coordinator.
// The caller holds d.mu.
func (d *Driver) takeOutcome(out core.Outcome) effects {
	e := effects{events: d.events.add(out.Events), cached: d.cached.add(out.CacheEvents)}
	e.commands = slices.Clone(out.Commands)
	for _, a := range out.Answers {
		e.answers = append(e.answers, d.takeAnswers(a)...)
	}
	d.signalIdle()
	return e
}

// applyEffects takes the actions of an outcome. The caller does not hold d.mu.
func (d *Driver) applyEffects(e effects) {
	if d.options.Runner != nil {
		d.applyInline(e)
		return
	}
	d.commands.add(e.commands)
	for _, a := range e.answers {
		a.done(a.resolution, a.err)
	}
	if e.events {
		go d.events.deliverAll(linger)
	}
	if e.cached {
		go d.cached.deliverAll(linger)
	}
}

// applyInline is applyEffects for a simulator: in this goroutine, in a fixed order.
func (d *Driver) applyInline(e effects) {
	if e.events {
		d.events.deliverAll(0)
	}
	if e.cached {
		d.cached.deliverAll(0)
	}
	for _, a := range e.answers {
		a.done(a.resolution, a.err)
	}
	for _, c := range e.commands {
		d.options.Runner.Run(d.workOf(c), d.handleResult)
	}
}

// handleResult gives the result of a command to the coordinator.
func (d *Driver) handleResult(r core.CommandResult) {
	err := d.callCore(func(now time.Time) (core.Outcome, error) { return d.core.HandleCommandResult(r, now) })
	if err != nil {
		id, key := r.Correlation()
		d.options.Logger.Error("placement: the coordinator refuses a result", "request", id, "key", key, "result", r, "error", err)
	}
}

// effects are the actions of an outcome, which the driver takes after it has unlocked its
// mutex.
type effects struct {
	commands []core.Command
	answers  []answer
	events   bool // a goroutine is to deliver events
	cached   bool // … and events of the cache
}

// answer is the answer to one resolve.
type answer struct {
	done       func(core.Resolution, error)
	resolution core.Resolution
	err        error
}

func (e effects) mergedWith(more effects) effects {
	return effects{
		commands: append(e.commands, more.commands...), answers: append(e.answers, more.answers...),
		events: e.events || more.events, cached: e.cached || more.cached,
	}
}

// workOf returns the function that executes the command.
func (d *Driver) workOf(c core.Command) func(context.Context) core.CommandResult {
	return func(ctx context.Context) core.CommandResult { return d.executeCommand(ctx, c, nil) }
}

// executeCommand executes the command. A panic becomes the result's error. Where the command
// calls runtime.Goexit, which ends this goroutine, lost gets the result; lost may be nil.
func (d *Driver) executeCommand(ctx context.Context, c core.Command, lost func(core.CommandResult)) (r core.CommandResult) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		failure := &PanicError{Value: p, Stack: debug.Stack()}
		_, key := c.Correlation()
		d.options.Logger.Error("placement: a command panics", "command", commandName(c), "key", key, "panic", failure.Value, "stack", string(failure.Stack))
		r = failedResult(c, failure)
		if p == nil && lost != nil {
			lost(r)
		}
	}()
	r = d.homes.execute(ctx, c)
	returned = true
	return r
}

// commandName returns the name of a command for errors and logs.
func commandName(c core.Command) string {
	switch c.(type) {
	case core.TryAcquire:
		return "TryAcquire"
	case core.LoadActivation:
		return "Load"
	case core.EnsureActivation:
		return "EnsureActivation"
	case core.StoreActivation:
		return "Store"
	case core.Release:
		return "Release"
	case core.Deactivate:
		return "Deactivate"
	}
	return "Remove"
}
