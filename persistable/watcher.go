// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// watcher follows the record with a packed id.
type watcher struct {
	source  *source
	id      []byte
	began   bool
	last    []byte // token and bytes of the record that was seen last; nil: none was there
	watches []kv.Future[struct{}]
}

// recheck is how often, in poll intervals, a watcher looks although its watches are
// armed: a directory that was moved fires none.
const recheck = 30

// look reads the record, arms watches on its keys at the version that it reads, and
// reports whether the record is another one than before; nil if there is none.
func (w *watcher) look(ctx context.Context) (v any, changed bool, err error) {
	writer, err := w.source.db.engine.Begin()
	if err != nil {
		return nil, false, err
	}
	var now []byte
	err = kv.Retry(ctx, writer, func(kv.Attempt) (err error) {
		w.cancel()
		t := &transaction{db: w.source.db, Transaction: scan.Transaction{Reader: writer.Snapshot()}}
		v, now, err = w.read(ctx, t, writer)
		return err
	})
	if err != nil || w.began && (now == nil) == (w.last == nil) && bytes.Equal(now, w.last) {
		return nil, false, err
	}
	w.began, w.last = true, now
	return v, true, nil
}

// read reads the record, with its token and bytes, and arms the watches.
func (w *watcher) read(ctx context.Context, t *transaction, tx kv.Transaction) (v any, now []byte, err error) {
	o, err := t.openStore(ctx, w.source.place)
	if err != nil || o == nil {
		return nil, nil, err
	}
	key, r := o.records.Append(nil, w.id), w.source.record
	value, err := t.Reader.Get(key).Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	var s format.Record
	if value != nil {
		if s, err = r.readWhole(ctx, t.Reader, w.id, key, value); err != nil {
			return nil, nil, err
		}
		if v, err = r.decodeRecord(s, w.id, key); err != nil {
			return nil, nil, err
		}
		if now = append(slices.Clone(s.Token[:]), s.Payload...); w.source.hides(v) {
			v, now = nil, nil
		}
	}
	for i := range s.Chunks + 1 {
		watched := key
		if i > 0 {
			watched = format.AppendChunk(slices.Clone(key), i)
		}
		w.watches = append(w.watches, tx.Watch(watched))
	}
	return v, now, nil
}

// watchLocks lets w watch for the end of the locks of directories.
func (w *watcher) watchLocks(t *transaction, all []tenant) {
	for _, d := range all {
		if d.Lock.ID != "" {
			w.watches = append(w.watches, t.writer.Watch(d.keys.Settings))
		}
	}
}

// wait waits until a watch fires, or for the time after which the watcher looks again
// anyway. It returns the context's error, and that of a closed engine. A watch for which
// the engine has no room has failed when look returns.
func (w *watcher) wait(ctx context.Context) error {
	poll := w.source.place.db.options.WatchPoll
	if len(w.watches) == 0 {
		return sleep(ctx, nil, poll)
	}
	fired := make(chan struct{}, 1)
	for _, f := range w.watches {
		go notify(f.Done(), fired)
	}
	if err := sleep(ctx, fired, recheck*min(poll, math.MaxInt64/recheck)); err != nil {
		return err
	}
	failed := w.failure()
	if failed == nil || errors.Is(failed, kv.ErrClosed) {
		return failed
	}
	return sleep(ctx, nil, poll) // too many watches, for example: look without haste
}

// failure returns the error of the first watch that has failed.
func (w *watcher) failure() error {
	for _, f := range w.watches {
		if f.Ready() {
			if _, err := f.Get(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancel makes room for other watches.
func (w *watcher) cancel() {
	for _, f := range w.watches {
		f.Cancel()
	}
	w.watches = nil
}

// notify tells fired when done is closed. It ends at the latest when the watch is
// cancelled.
func notify(done <-chan struct{}, fired chan<- struct{}) {
	<-done
	select {
	case fired <- struct{}{}:
	default:
	}
}

// sleep waits for wake or for the duration. It returns the cause if ctx ends first.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wake:
	case <-timer.C:
	}
	return nil
}

// findChangeAfter reports whether there is a change after a version. If there is a store without
// one, it arms a watch that the next change fires.
func (w *watcher) findChangeAfter(ctx context.Context, since Version) (found bool, err error) {
	writer, err := w.source.db.engine.Begin()
	if err != nil {
		return false, err
	}
	err = kv.Retry(ctx, writer, func(kv.Attempt) (err error) {
		w.cancel()
		t := &transaction{db: w.source.db, Transaction: scan.Transaction{Reader: writer.Snapshot()}}
		o, err := t.openStore(ctx, w.source.place)
		if found = false; err != nil || o == nil {
			return err
		}
		if _, err = o.readableVersions(w.source.record); err != nil {
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
