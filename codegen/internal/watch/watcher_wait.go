// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// After an event Wait waits until there was none for a while: editors and git write
// several files, or one by several steps. It does not wait longer than a limit.
const (
	quiet    = 100 * time.Millisecond
	maxQuiet = 2 * time.Second
)

// retryAfter is how long Wait waits after a State that failed.
const retryAfter = time.Second

// Wait waits until files may have changed since the last State, and then until the
// changes pause.
func (w *Watcher) Wait(ctx context.Context) error {
	if w.events == nil {
		return sleep(ctx, w.poll)
	}
	if w.failed {
		return sleep(ctx, retryAfter)
	}
	if err := w.waitEvent(ctx); err != nil {
		return err
	}
	limit := time.NewTimer(maxQuiet)
	defer limit.Stop()
	for {
		pause := time.NewTimer(quiet)
		select {
		case <-limit.C:
			pause.Stop()
			return nil
		case <-pause.C:
			return nil
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		case <-w.events.Events:
		case <-w.events.Errors:
		}
		pause.Stop()
	}
}

// waitEvent waits for an event that may concern a source file or a folder. Errors are
// mostly events that the system lost, and say that something happened.
func (w *Watcher) waitEvent(ctx context.Context) error {
	for {
		select {
		case event := <-w.events.Events:
			if w.isRelevant(event) {
				return nil
			}
		case <-w.events.Errors:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isRelevant reports whether an event may concern a source file, or a folder that comes
// or goes: then its name says nothing.
func (w *Watcher) isRelevant(event fsnotify.Event) bool {
	return event.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 ||
		event.Op&fsnotify.Write != 0 && (isSource(filepath.Base(event.Name)) || w.files[event.Name])
}

// sleep waits for a time.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
