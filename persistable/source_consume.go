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

// consume handles the next changes of a consumer in one transaction.
func (s source) consume(ctx context.Context, group string, limit int, fn func(*transaction, []change) error) (n int, err error) {
	if err := s.mayConsume(group); err != nil {
		return 0, err
	}
	err = s.place.db.Transact(ctx, func(tx Tx) error {
		n = 0
		o, err := tx.t.openOrCreateStore(ctx, s.place)
		if err != nil {
			return err
		}
		key := o.feedKey(s.place, group)
		at, err := tx.t.writer.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		changes, err := s.readChanges(ctx, tx.t.snapshot(), o, versionOf(at), limit)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			if at == nil {
				tx.t.writer.Set(key, zeroVersion[:])
			}
			return nil
		}
		n = len(changes)
		last := changes[n-1].version
		tx.t.writer.Set(key, last[:])
		return fn(tx.t, changes)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// awaitChange waits until there may be a change behind the position of a consumer.
func (s source) awaitChange(ctx context.Context, group string) error {
	var changed kv.Future[struct{}]
	var found bool
	err := s.place.db.transact(ctx, func(t *transaction) (err error) {
		found = false
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil || o.versions == nil {
			return errors.Join(err, s.noStore(o))
		}
		at, err := t.writer.Snapshot().Get(o.feedKey(s.place, group)).Get(ctx)
		if err != nil {
			return err
		}
		changes, err := t.writer.Snapshot().GetRange(o.versions.entriesAfter(versionOf(at)).Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
		if found = len(changes) > 0; !found && err == nil {
			changed = t.writer.Watch(o.versions.changed)
		}
		return err
	})
	switch {
	case kv.CodeOf(err) == kv.CodeTooManyWatches:
		return sleep(ctx, nil, s.place.db.options.WatchPoll)
	case err != nil || found:
		return err
	}
	w := watcher{source: &s, watches: []kv.Future[struct{}]{changed}}
	defer w.cancel()
	return w.wait(ctx)
}

// noStore is the error of a consumer whose store was removed, or has no versions.
func (s *source) noStore(o *openStore) error {
	if o == nil {
		return nil // Next creates it again
	}
	return s.record.noVersions()
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
