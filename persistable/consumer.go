// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
)

// Consumer reads the changes of a store under a name; its position is in the database. It
// is immutable and safe for concurrent use. Several of one name, in any processes, share the
// position: of two that handle the same changes one commits, and the other one's
// transaction conflicts and runs again with what comes next.
//
// The function that handles changes gets the transaction that moves the position. What it
// writes there happens exactly once, even if an acknowledgement is lost. Other effects
// happen at least once. The records are as of the transaction's version, but a concurrent
// change of one does not make the transaction conflict: it comes as a later change.
type Consumer[T, ID any] struct {
	source source
	group  string
	limit  int
}

// Limit returns the consumer with a limit of n changes for one call of its function; 200
// without. Of large records it gets fewer, about two megabytes. A transaction must be done within five seconds. A consumer with an n below 1
// fails when it runs.
//
//go:noinline
func (c *Consumer[T, ID]) Limit(n int) *Consumer[T, ID] {
	next := *c
	next.limit = n
	next.source.checkConsumerLimit(n)
	return &next
}

// Next handles the next changes, if there are any, in one transaction, and returns how many
// they were. fn may run again after a conflict, and then with other changes. An error of fn
// is returned as it is, and the position stays. While the tenant is locked, Next returns a
// *[LockedError].
//
// Where the store does not exist, because nothing was written to it or its tenant was removed,
// there are no changes: Next returns 0, creates nothing and stores no position. So a consumer
// does not bring a tenant back, and holds up [Feed.Prune] once it has run on a store that
// exists.
//
// Cost: two rounds of reads, those of fn, and the commit.
//
//go:noinline
func (c *Consumer[T, ID]) Next(ctx context.Context, fn func(tx Tx, changes []Change[T, ID]) error) (int, error) {
	n, _, err := c.source.consume(ctx, c.group, c.limit, typedConsumer(fn))
	return n, err
}

// typedConsumer returns a function that calls fn with the changes that it gets.
func typedConsumer[T, ID any](fn func(tx Tx, changes []Change[T, ID]) error) func(*transaction, []change) error {
	return func(t *transaction, changes []change) error {
		all := make([]Change[T, ID], len(changes))
		for i, change := range changes {
			all[i] = typedChange[T, ID](change)
		}
		return fn(Tx{t}, all)
	}
}

// Run handles changes as they come, until ctx ends or fn returns an error, and returns that.
// While the tenant is locked, by a copy or an export for example, it waits for the end of the
// lock. Only a *[LockedError] that fn returns, of another tenant's store, ends it.
//
// Between changes it waits with a watch, and looks only once in thirty [Options.WatchPoll]:
// a directory that was moved or removed fires no watch. If there are too many watches, it
// looks once in WatchPoll, and so it does until the store exists.
//
//go:noinline
func (c *Consumer[T, ID]) Run(ctx context.Context, fn func(tx Tx, changes []Change[T, ID]) error) error {
	return c.source.consumeAll(ctx, c.group, c.limit, typedConsumer(fn))
}

// Position returns the version of the last change that was handled, zero for none.
//
//go:noinline
func (c *Consumer[T, ID]) Position(ctx context.Context) (v Version, err error) {
	return c.source.position(ctx, c.group)
}
