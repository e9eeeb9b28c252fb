// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"runtime/debug"

	"github.com/kazahana-db/kazahana/placement"
)

// workOf returns the function that executes the command.
func (d *Driver) workOf(c placement.Command) func(context.Context) placement.CommandResult {
	return func(ctx context.Context) placement.CommandResult { return d.executeCommand(ctx, c, nil) }
}

// executeCommand executes the command. A panic becomes the result's error. Where the command
// calls runtime.Goexit, which ends this goroutine, lost gets the result; lost may be nil.
func (d *Driver) executeCommand(ctx context.Context, c placement.Command, lost func(placement.CommandResult)) (r placement.CommandResult) {
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
func commandName(c placement.Command) string {
	switch c.(type) {
	case placement.TryAcquire:
		return "TryAcquire"
	case placement.LoadActivation:
		return "Load"
	case placement.EnsureActivation:
		return "EnsureActivation"
	case placement.StoreActivation:
		return "Store"
	case placement.Release:
		return "Release"
	case placement.Deactivate:
		return "Deactivate"
	}
	return "Remove"
}
