// SPDX-License-Identifier: Apache-2.0

package build

import "context"

// Stage is a point in a build at which a process may die. The constants are in the
// order in which a build comes to them; those from Picked to Moved repeat.
type Stage string

// The stages of a build.
const (
	// Listed: the indexes are in the state building and the work list is written,
	// within the transaction, before its commit.
	Listed Stage = "listed"
	// Started: that transaction is committed.
	Started Stage = "started"
	// Picked: a worker has chosen a range, and not yet claimed it.
	Picked Stage = "picked"
	// Filled: a batch is written, within the transaction that also moves the
	// range's progress, before its commit.
	Filled Stage = "filled"
	// Moved: that transaction is committed.
	Moved Stage = "moved"
	// Emptied: no range of the list has anything left.
	Emptied Stage = "emptied"
	// Finished: the list is removed, and the indexes that cannot have violations are
	// readable.
	Finished Stage = "finished"
	// Settled: the violations of unique indexes were checked, and their indexes are
	// not yet readable.
	Settled Stage = "settled"
)

// The stages of a verification that counts anew, in addition to those of the build that
// it runs, from Listed to Finished.
const (
	// Recounting: the indexes that count anew are in the header, and not yet built.
	Recounting Stage = "recounting"
	// Mended: entries are corrected, within the transaction, before its commit.
	Mended Stage = "mended"
	// Compared: all entries are compared, and the indexes that count anew are still there.
	Compared Stage = "compared"
)

// RecountStages are the stages of a verification that counts anew.
var RecountStages = []Stage{Recounting, Listed, Started, Picked, Filled, Moved, Emptied, Finished, Mended, Compared}

// Stages are all stages of a build.
var Stages = []Stage{Listed, Started, Picked, Filled, Moved, Emptied, Finished, Settled}

type hookKey struct{}

// WithHook returns a context with which a build calls hook at each stage, perhaps
// from several goroutines at once. Tests kill their process in it.
func WithHook(ctx context.Context, hook func(Stage)) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// Reach calls the hook of the context, if it has one.
func Reach(ctx context.Context, s Stage) {
	if hook, ok := ctx.Value(hookKey{}).(func(Stage)); ok {
		hook(s)
	}
}
