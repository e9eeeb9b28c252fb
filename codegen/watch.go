// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/watch"
)

// Watch generates code as [Run] does, and again whenever a file that decides what is
// generated comes, goes or gets another content: source files of the packages, and of
// those that they import from the main module or from one that a folder replaces,
// go.mod, persist.lock, and the outputs. It returns nil when the context ends.
//
// Faults do not end it. It prints to Stderr what a turn found and wrote, unless that is
// the same as the last time:
//
//	persistgen: checked in 0.4s
//	order.go:12:35: Order.Status: unknown option indx; did you mean index?
//	persistgen: 1 fault; waiting for changes
//
// Check, Fix, Explain and Graph without GraphInto are refused.
func Watch(ctx context.Context, o Options) error {
	if err := errors.Join(o.Validate(), o.validateWatch()); err != nil {
		return err
	}
	watcher, err := watch.New(o.Poll)
	if err != nil {
		return fmt.Errorf("persistgen: %w", err)
	}
	return errors.Join(newWatchRun(ctx, o, watcher).run(ctx), watcher.Close())
}

// validateWatch refuses options that write nothing, or write into the source.
func (o Options) validateWatch() error {
	if o.Check || o.Fix || o.Explain || o.printsGraph() {
		return errors.New("persistgen: -watch writes what is generated, again and again: remove -check, -fix, -explain, and -graph without -graph-into")
	}
	return nil
}
