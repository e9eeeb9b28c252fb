// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/codegen/internal/watch"
)

// watchRun is one call of Watch.
type watchRun struct {
	options Options
	dir     string // the working directory, absolute
	watcher *watch.Watcher
	scope   watch.Scope
	printed *string // what the last turn that was printed found; nil before the first
}

func newWatchRun(ctx context.Context, o Options, watcher *watch.Watcher) *watchRun {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.dependencies == nil {
		o.dependencies = source.NewDependencies()
	}
	w := &watchRun{options: o, watcher: watcher}
	if run, err := newRun(ctx, o); err == nil {
		w.options.Patterns, w.dir = run.options.Patterns, run.loader.Dir
	}
	w.scope = w.scopeOf(source.Workspace{})
	return w
}

// run generates, and again after each change, until the context ends. A turn knows the
// files at its begin, and its own outputs; anything else that differs afterwards is a
// change.
//
// A turn that was overtaken by a change may have read what a file held in between. If it
// were shown, and the user restored the file, the files would be those of its begin, and no
// change would be seen. So the next turn begins at once, and the one before is shown only if
// it wrote something, or after several such turns in a row.
func (w *watchRun) run(ctx context.Context) error {
	w.print("watching %s; Ctrl-C ends it", strings.Join(w.options.Patterns, " "))
	for hidden := 0; ; {
		t, left := w.takeTurn(ctx)
		if ctx.Err() != nil {
			return nil
		}
		overtaken := w.hasChanged(left)
		if overtaken && len(t.wrote) == 0 && hidden < mostHidden {
			hidden++
			continue
		}
		hidden = 0
		w.show(t)
		if overtaken {
			continue
		}
		if err := w.waitChange(ctx, left); err != nil {
			return nil // the context ended
		}
	}
}

// mostHidden is how many turns in a row are not shown because changes overtook them.
const mostHidden = 3

// takeTurn generates once, and returns the files as the turn left those of its begin.
func (w *watchRun) takeTurn(ctx context.Context) (*turn, watch.State) {
	before, err := w.watcher.State(w.scope)
	t := w.newTurn(ctx, w.watcher.Blocked())
	t.report(err)
	return t, before.With(t.outputs, w.scope)
}

// waitChange waits until the files are not as a turn left them.
func (w *watchRun) waitChange(ctx context.Context, left watch.State) error {
	for !w.hasChanged(left) {
		if err := w.watcher.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hasChanged reports whether the files are not as a turn left them.
func (w *watchRun) hasChanged(left watch.State) bool {
	now, err := w.watcher.State(w.scope)
	return err == nil && !maps.Equal(now, left)
}

// newTurn generates once, unless the files must not be read.
func (w *watchRun) newTurn(ctx context.Context, blocked error) *turn {
	t := &turn{begin: time.Now(), outputs: map[string][]byte{}}
	if blocked != nil {
		t.report(blocked)
		return t
	}
	if w.options.dependencies.IsLarge() {
		w.options.dependencies = source.NewDependencies()
	}
	run, err := newRun(ctx, w.options)
	if err == nil {
		err = run.generate()
		w.follow(run.loader.Workspace, err)
	}
	if err == nil {
		err = t.write(run)
	}
	t.report(err)
	return t
}

// follow makes the scope that of the packages which a turn loaded. If they have faults,
// an import may be among them that the mended source has again.
func (w *watchRun) follow(workspace source.Workspace, err error) {
	scope := w.scopeOf(workspace)
	if err != nil {
		scope.Add(w.scope)
	}
	w.scope = scope
}

// show prints what a turn found, unless it is the same as before.
func (w *watchRun) show(t *turn) {
	text := t.text.String()
	if len(t.wrote) == 0 && w.printed != nil && *w.printed == text {
		return
	}
	w.printed = &text
	w.print("checked in %.1fs", time.Since(t.begin).Seconds())
	fmt.Fprint(w.options.Stderr, text)
	w.print("%s; waiting for changes", t.summary())
}

func (w *watchRun) print(format string, args ...any) {
	fmt.Fprintf(w.options.Stderr, "persistgen: "+format+"\n", args...)
}

// absolute is a path from the working directory.
func (w *watchRun) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.dir, path)
}
