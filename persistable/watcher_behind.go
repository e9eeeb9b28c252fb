// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// lookBehind reports whether there is a change behind a version. If there is a store without
// one, it arms a watch that the next change fires.
func (w *watcher) lookBehind(ctx context.Context, since Version) (found bool, err error) {
	writer, err := w.source.place.db.engine.Begin()
	if err != nil {
		return false, err
	}
	err = kv.Retry(ctx, writer, func(kv.Attempt) (err error) {
		w.cancel()
		t := &transaction{db: w.source.place.db, Transaction: scan.Transaction{Reader: writer.Snapshot()}}
		o, err := t.openStore(ctx, w.source.place)
		if found = false; err != nil || o == nil {
			return err
		}
		if _, err = w.source.versionsOf(o); err != nil {
			return err
		}
		changes, err := t.Reader.GetRange(o.versions.entriesAfter(since).Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
		if found = len(changes) > 0; err == nil && !found {
			w.watches = append(w.watches, writer.Watch(o.versions.changed))
		}
		return err
	})
	return found, err
}

// waitUnless waits for the watch that a look has armed, unless the look has found a change or
// failed. Where there are too many watches, it waits until it is time to look again.
func (w *watcher) waitUnless(ctx context.Context, found bool, err error) error {
	switch {
	case kv.CodeOf(err) == kv.CodeTooManyWatches:
		return sleep(ctx, nil, w.source.place.db.options.WatchPoll)
	case err != nil || found:
		return err
	}
	return w.wait(ctx)
}
