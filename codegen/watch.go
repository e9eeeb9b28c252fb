// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
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

// turn is one time that Watch generates.
type turn struct {
	begin   time.Time
	text    strings.Builder // faults and notes, a line each
	faults  int
	wrote   []string          // names of files that changed
	outputs map[string][]byte // what the turn changed, by path; nil for files that are removed
}

// write writes the outputs of a run without faults, and keeps its notes.
func (t *turn) write(r *run) error {
	for _, note := range newDiagnostics(r.faults.Notes) {
		fmt.Fprintln(&t.text, note)
	}
	changed, err := r.writeOutputs()
	for _, o := range changed {
		t.outputs[o.Path] = o.Content
		t.wrote = append(t.wrote, r.faults.Relative(o.Path))
	}
	return err
}

// report keeps the faults that an error has.
func (t *turn) report(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(&t.text, err)
	t.faults++
	if list, ok := errors.AsType[Diagnostics](err); ok {
		t.faults += len(list) - 1
	}
}

// summary says how the turn ended.
func (t *turn) summary() string {
	switch {
	case t.faults == 1:
		return "1 fault"
	case t.faults > 1:
		return fmt.Sprint(t.faults, " faults")
	case len(t.wrote) > 0:
		return "wrote " + strings.Join(t.wrote, ", ")
	}
	return "no faults, nothing to write"
}

// scopeOf is what is watched: where the patterns name packages, what those that were
// loaded import, the modules, and the outputs that are not source files.
func (w *watchRun) scopeOf(workspace source.Workspace) watch.Scope {
	scope := watch.Scope{Folders: workspace.Folders, Files: w.moduleFiles()}
	for _, m := range workspace.Modules {
		scope.Add(watch.Scope{Files: []string{m.File}})
	}
	for _, pattern := range w.options.Patterns {
		scope.Add(w.scopeOfPattern(filepath.ToSlash(pattern), workspace.Modules))
	}
	if w.options.GraphInto != "" {
		scope.Add(watch.Scope{Files: []string{w.absolute(w.options.GraphInto)}})
	}
	return scope
}

// moduleFiles are the files of the module in which the command runs, and of a workspace.
func (w *watchRun) moduleFiles() (list []string) {
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		module, workspace := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.work")
		if _, err := os.Stat(workspace); err == nil {
			list = append(list, workspace)
		}
		if _, err := os.Stat(module); err == nil {
			list = append(list, module, filepath.Join(dir, "go.sum"), workspace)
		}
		if dir == filepath.Dir(dir) {
			return list
		}
	}
}

// scopeOfPattern is where a pattern names packages. Those of an import path are in the
// modules that are known from the last load.
func (w *watchRun) scopeOfPattern(pattern string, modules []source.Module) (scope watch.Scope) {
	prefix, _, tree := strings.Cut(pattern, "...")
	if pattern == "all" {
		prefix, tree = "", true
	}
	add := func(dir string) {
		if tree {
			scope.Trees = append(scope.Trees, dir)
		} else {
			scope.Folders = append(scope.Folders, dir)
		}
	}
	prefix = strings.TrimSuffix(prefix, "/")
	switch {
	case strings.HasSuffix(pattern, ".go"):
		scope.Folders = []string{filepath.Dir(w.absolute(pattern))}
	case strings.HasPrefix(pattern, ".") || filepath.IsAbs(pattern):
		add(w.absolute(prefix))
	}
	for _, m := range modules {
		if rest, below := strings.CutPrefix(prefix+"/", m.Path+"/"); below {
			add(filepath.Join(m.Dir, rest))
		} else if tree && strings.HasPrefix(m.Path, prefix) {
			add(m.Dir)
		}
	}
	slices.Sort(scope.Trees)
	return scope
}
