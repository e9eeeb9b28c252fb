// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
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
type Consumer[T, ID any] struct{ consumer consumer }

// consumer is a Consumer without types.
type consumer struct {
	feed
	group string
	limit int
}

// Limit returns the consumer with a limit of n changes for one call of its function; 200
// without. Of large records it gets fewer, about two megabytes. A transaction must be done within five seconds. A consumer with an n below 1
// fails when it runs.
//
//go:noinline
func (c *Consumer[T, ID]) Limit(n int) *Consumer[T, ID] {
	next := *c
	next.consumer.setLimit(n)
	return &next
}

// Next handles the next changes, if there are any, in one transaction, and returns how many
// they were. fn may run again after a conflict, and then with other changes. An error of fn
// is returned as it is, and the position stays. While the tenant is locked, Next returns an
// [ErrLocked].
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
	n, _, err := c.consumer.next(ctx, typedConsumer(fn))
	return n, err
}

// typedConsumer returns a function that calls fn with the changes that it gets.
func typedConsumer[T, ID any](fn func(tx Tx, changes []Change[T, ID]) error) func(*transaction, []change) error {
	return func(t *transaction, changes []change) error {
		all := make([]Change[T, ID], len(changes))
		for i, change := range changes {
			all[i] = typedChange[T, ID](change)
		}
		return fn(Tx{t: t}, all)
	}
}

// Run handles changes as they come, until ctx ends or fn returns an error, and returns that.
// While the tenant is locked, by a copy or an export for example, it waits for the end of the
// lock. Only an [ErrLocked] that fn returns, of another tenant's store, ends it.
//
// Between changes it waits with a watch, and looks only once in thirty [Options.WatchPoll]:
// a directory that was moved or removed fires no watch. If there are too many watches, it
// looks once in WatchPoll, and so it does until the store exists.
//
//go:noinline
func (c *Consumer[T, ID]) Run(ctx context.Context, fn func(tx Tx, changes []Change[T, ID]) error) error {
	return c.consumer.run(ctx, typedConsumer(fn))
}

// Position returns the version of the last change that was handled, zero for none.
//
//go:noinline
func (c *Consumer[T, ID]) Position(ctx context.Context) (v Version, err error) {
	return c.consumer.position(ctx)
}

// mayRun returns why a consumer cannot run, or nil.
func (c consumer) mayRun() error {
	switch err := c.checkUsable(); {
	case err != nil:
		return err
	case c.group == "":
		return fmt.Errorf("persistable: %s: the name of a consumer is empty", c.record.Type)
	case c.tx != nil:
		return fmt.Errorf("persistable: %s: a consumer runs in transactions of its own: use a store that is not bound to one", c.record.Type)
	}
	return nil
}

// setLimit sets the limit. With one below 1 the consumer fails when it runs.
func (c *consumer) setLimit(n int) {
	c.limit = n
	if n < 1 && c.err == nil {
		c.err = fmt.Errorf("persistable: a consumer has Limit(%d): the least is 1", n)
	}
}

// run handles the changes of a consumer as they come. While the store is locked it
// waits, as if there were no change. An [ErrLocked] that fn returns ends it.
func (c consumer) run(ctx context.Context, fn func(*transaction, []change) error) error {
	for {
		n, locked, err := c.next(ctx, fn)
		if locked || err == nil && n == 0 {
			err = c.awaitChange(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// next handles the next changes of a consumer in one transaction. Where there is no
// store there are none; a consumer makes no directory, since its tenant may have been removed.
// locked says that the error is an [ErrLocked] of the store, and not one that fn returns.
func (c consumer) next(ctx context.Context, fn func(*transaction, []change) error) (n int, locked bool, err error) {
	if err := c.mayRun(); err != nil {
		return 0, false, err
	}
	err = c.db.Transact(ctx, func(tx Tx) (err error) {
		n, locked = 0, false
		o, err := tx.t.openStoreToWrite(ctx, c.place)
		switch {
		case err != nil:
			locked = errors.Is(err, ErrLocked)
			return err
		case o == nil && !c.record.hasVersions():
			return c.record.noVersions()
		case o == nil:
			return nil
		}
		n, err = c.handle(ctx, tx.t, o, fn)
		return err
	})
	if err != nil {
		return 0, locked, err
	}
	return n, false, nil
}

// handle handles the next changes of a store, and moves the position of the consumer.
func (c consumer) handle(ctx context.Context, t *transaction, o *openStore, fn func(*transaction, []change) error) (n int, err error) {
	key := o.feedKey(c.place, c.group)
	at, err := t.writer.Get(key).Get(ctx)
	if err != nil {
		return 0, err
	}
	changes, _, err := c.readChanges(ctx, t.snapshot(), o, versionOf(at), c.limit)
	if err != nil {
		return 0, err
	}
	if len(changes) == 0 {
		if at == nil {
			t.writer.Set(key, zeroVersion[:])
		}
		return 0, nil
	}
	last := changes[len(changes)-1].version
	t.writer.Set(key, last[:])
	return len(changes), fn(t, changes)
}

// awaitChange waits until there may be a change after the position of a consumer, and until
// no lock that it sees keeps the consumer from handling it. Where there is no store nothing
// can be watched: it waits for the time after which to look again.
func (c consumer) awaitChange(ctx context.Context) error {
	w := watcher{source: &c.source}
	defer w.cancel()
	var found bool
	err := c.db.transact(ctx, func(t *transaction) (err error) {
		w.cancel()
		found, err = c.watchChange(ctx, t, &w)
		return err
	})
	return w.waitUnless(ctx, found, err)
}

// watchChange reports whether there is a change after the position of a consumer that can be
// handled. If there is a store without one, it lets w watch for the next change; if the store
// is locked, for the end of the lock.
func (c consumer) watchChange(ctx context.Context, t *transaction, w *watcher) (found bool, err error) {
	o, err := t.openStore(ctx, c.place)
	if err != nil || o == nil {
		return false, err
	}
	if o.versions == nil {
		return false, c.record.noVersions()
	}
	at, err := t.writer.Snapshot().Get(o.feedKey(c.place, c.group)).Get(ctx)
	if err != nil {
		return false, err
	}
	after := o.versions.entriesAfter(versionOf(at)).Selectors()
	changes, err := t.writer.Snapshot().GetRange(after, kv.RangeOptions{Limit: 1}).Slice(ctx)
	switch {
	case err != nil:
		return false, err
	case len(changes) == 0:
		w.watches = append(w.watches, t.writer.Watch(o.versions.changed))
	default:
		w.watchLocks(t, o.tenants)
	}
	return len(w.watches) == 0, nil
}

// position returns the position of a consumer.
func (c consumer) position(ctx context.Context) (v Version, err error) {
	err = c.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, c.place)
		if err != nil || o == nil {
			return err
		}
		at, err := t.Reader.Get(o.feedKey(c.place, c.group)).Get(ctx)
		v = versionOf(at)
		return err
	})
	return v, err
}

// remove removes the position of a consumer.
func (c consumer) remove(ctx context.Context) error {
	return c.runWrite(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, c.place)
		if err == nil && o != nil {
			t.writer.Clear(o.feedKey(c.place, c.group))
		}
		return err
	})
}
