// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// mayConsume returns why a consumer cannot run, or nil.
func (s *source) mayConsume(group string) error {
	switch err := s.checkUsable(); {
	case err != nil:
		return err
	case group == "":
		return fmt.Errorf("persistable: %s: the name of a consumer is empty", s.record.Type)
	case s.tx != nil:
		return fmt.Errorf("persistable: %s: a consumer runs in transactions of its own: use a store that is not bound to one", s.record.Type)
	}
	return nil
}

// checkConsumerLimit lets a consumer with a limit below 1 fail when it runs.
func (s *source) checkConsumerLimit(n int) {
	if n < 1 && s.err == nil {
		s.err = fmt.Errorf("persistable: a consumer has Limit(%d): the least is 1", n)
	}
}

// consumeAll handles the changes of a consumer as they come. While the store is locked it
// waits, as if there were no change. A *[LockedError] that fn returns ends it.
func (s source) consumeAll(ctx context.Context, group string, limit int, fn func(*transaction, []change) error) error {
	for {
		n, locked, err := s.consume(ctx, group, limit, fn)
		if locked || err == nil && n == 0 {
			err = s.awaitChange(ctx, group)
		}
		if err != nil {
			return err
		}
	}
}

// consume handles the next changes of a consumer in one transaction. Where there is no
// store there are none; a consumer makes no directory, since its tenant may have been removed.
// locked says that the error is a *[LockedError] of the store, and not one that fn returns.
func (s source) consume(ctx context.Context, group string, limit int, fn func(*transaction, []change) error) (n int, locked bool, err error) {
	if err := s.mayConsume(group); err != nil {
		return 0, false, err
	}
	err = s.place.db.Transact(ctx, func(tx Tx) (err error) {
		n, locked = 0, false
		o, err := tx.t.openStoreToWrite(ctx, s.place)
		switch {
		case err != nil:
			_, locked = errors.AsType[*LockedError](err)
			return err
		case o == nil && !s.record.hasVersions():
			return s.record.noVersions()
		case o == nil:
			return nil
		}
		n, err = s.consumeFrom(ctx, tx.t, o, group, limit, fn)
		return err
	})
	if err != nil {
		return 0, locked, err
	}
	return n, false, nil
}

// consumeFrom handles the next changes of a store, and moves the position of the consumer.
func (s *source) consumeFrom(ctx context.Context, t *transaction, o *openStore, group string, limit int, fn func(*transaction, []change) error) (n int, err error) {
	key := o.feedKey(s.place, group)
	at, err := t.writer.Get(key).Get(ctx)
	if err != nil {
		return 0, err
	}
	changes, _, err := s.readChanges(ctx, t.snapshot(), o, versionOf(at), limit)
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

// awaitChange waits until there may be a change behind the position of a consumer, and until
// no lock that it sees keeps the consumer from handling it. Where there is no store nothing
// can be watched: it waits for the time after which to look again.
func (s source) awaitChange(ctx context.Context, group string) error {
	w := watcher{source: &s}
	defer w.cancel()
	var found bool
	err := s.place.db.transact(ctx, func(t *transaction) (err error) {
		w.cancel()
		found, err = s.watchChange(ctx, t, group, &w)
		return err
	})
	return w.waitUnless(ctx, found, err)
}

// watchChange reports whether there is a change behind the position of a consumer that can be
// handled. If there is a store without one, it lets w watch for the next change; if the store
// is locked, for the end of the lock.
func (s *source) watchChange(ctx context.Context, t *transaction, group string, w *watcher) (found bool, err error) {
	o, err := t.openStore(ctx, s.place)
	if err != nil || o == nil {
		return false, err
	}
	if o.versions == nil {
		return false, s.record.noVersions()
	}
	at, err := t.writer.Snapshot().Get(o.feedKey(s.place, group)).Get(ctx)
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
func (s source) position(ctx context.Context, group string) (v Version, err error) {
	err = s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		at, err := t.Reader.Get(o.feedKey(s.place, group)).Get(ctx)
		v = versionOf(at)
		return err
	})
	return v, err
}

// removeConsumer removes the position of a consumer.
func (s source) removeConsumer(ctx context.Context, group string) error {
	return s.runWrite(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, s.place)
		if err == nil && o != nil {
			t.writer.Clear(o.feedKey(s.place, group))
		}
		return err
	})
}
