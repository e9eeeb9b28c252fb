// SPDX-License-Identifier: Apache-2.0

// Package watch tells when source files of Go packages change. Events of the file
// system only wake it: what changed it learns from the content of the files, so it
// makes no difference how an editor writes them, and lost events of one file do not
// matter if any other event comes. It imports no other phase.
//
//	w, err := watch.New(0)
//	before, err := w.State(scope) // and from now on any change ends Wait
//	err = w.Wait(ctx)
//	after, err := w.State(scope)
//	changed := !maps.Equal(before, after)
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watcher waits for changes. One goroutine may use it at a time.
type Watcher struct {
	events  *fsnotify.Watcher // nil if the files are looked at in intervals
	poll    time.Duration
	digests digests
	files   map[string]bool // those of the last scope that are not source files
	blocked error           // of the last State
	failed  bool            // the last State returned an error
}

// New returns a watcher that waits for events of the file system, or, where there
// are none, looks at the files in intervals of poll.
func New(poll time.Duration) (*Watcher, error) {
	w := &Watcher{poll: poll, digests: digests{}}
	if poll > 0 {
		return w, nil
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the file system: %w", err)
	}
	w.events = events
	return w, nil
}

// Close releases what the system has for the watcher.
func (w *Watcher) Close() error {
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}

// State reads the files of the scope. A change of them after that ends Wait. After an
// error, Wait ends soon without one: the events that led to this State are used up.
func (w *Watcher) State(scope Scope) (State, error) {
	v := visit{watcher: w, state: State{}, folders: map[string]bool{}}
	for _, tree := range scope.Trees {
		v.addTree(tree, true)
	}
	for _, folder := range scope.Folders {
		v.addFolder(folder)
	}
	w.files = map[string]bool{}
	for _, file := range scope.Files {
		w.files[file] = true
		v.watch(filepath.Dir(file))
		v.addFile(file)
	}
	w.forget(v)
	w.blocked, w.failed = v.blocked, v.err != nil
	return v.state, v.err
}

// Blocked returns why the files of the last State must not be read, or nil: some of them are no
// regular files. The go command opens them all, and would wait for the writer of a named pipe.
func (w *Watcher) Blocked() error { return w.blocked }

// forget ends watching folders that a visit did not come to.
func (w *Watcher) forget(v visit) {
	maps.DeleteFunc(w.digests, func(path string, _ digestOf) bool { _, found := v.state[path]; return !found })
	if w.events == nil {
		return
	}
	for _, folder := range w.events.WatchList() {
		if !v.folders[folder] {
			_ = w.events.Remove(folder) // the system may have forgotten it before
		}
	}
}

// visit is one look at all files of a scope.
type visit struct {
	watcher *Watcher
	state   State
	folders map[string]bool // that are watched
	blocked error
	err     error
}

// addTree adds the folder and those below in which the go command looks for packages.
func (v *visit) addTree(folder string, root bool) {
	entries := v.addFolder(folder)
	if !root && isModule(entries) {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && !isSkipped(entry.Name()) {
			v.addTree(filepath.Join(folder, entry.Name()), false)
		}
	}
}

// addFolder adds the source files of a folder. It begins to watch the folder before it
// reads it: a file that is created in between is either read, or causes an event.
func (v *visit) addFolder(folder string) []fs.DirEntry {
	v.watch(folder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.err = errors.Join(v.err, err)
	}
	for _, entry := range entries {
		if isSource(entry.Name()) {
			v.addFile(filepath.Join(folder, entry.Name()))
		}
	}
	return entries
}

func (v *visit) addFile(path string) {
	if _, found := v.state[path]; found {
		return
	}
	digest, found := v.watcher.digests.of(path)
	if !found {
		return
	}
	v.state[path] = digest
	if mode := v.watcher.digests[path].info.Mode(); !mode.IsRegular() {
		v.blocked = errors.Join(v.blocked, fmt.Errorf("%s: it is not a regular file (%v), and the go command may wait for it forever: remove it, or give it another name", path, mode.Type()))
	}
}

// watch begins to watch a folder, or, while there is none, the nearest one above.
func (v *visit) watch(folder string) {
	events := v.watcher.events
	if events == nil {
		return
	}
	for {
		folder = existing(folder, func(f string) bool { info, err := os.Stat(f); return err == nil && info.IsDir() })
		if v.folders[folder] {
			return
		}
		err := events.Add(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is gone since
		}
		v.folders[folder] = true
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("the system watches no more folders (on Linux raise fs.inotify.max_user_watches, or use -poll): %w", err)
		}
		if err != nil {
			v.err = errors.Join(v.err, fmt.Errorf("watch %s: %w", folder, err))
		}
		return
	}
}

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
