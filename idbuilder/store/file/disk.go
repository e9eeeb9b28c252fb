// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// disk is a file system. Tests have one that fails and crashes.
type disk interface {
	ReadFile(path string) ([]byte, error)
	// Create makes a file that does not exist.
	Create(path string) (writer, error)
	Rename(from, to string) error
	Remove(path string) error
	MkdirAll(path string) error
	// SyncDir makes renames and removals in a folder durable.
	SyncDir(path string) error
	// ReadDir returns the names of the files in a folder.
	ReadDir(path string) ([]string, error)
	// Lock locks a file until the lock is closed or the process ends. It makes the file for
	// an exclusive lock. ctx ends the wait.
	Lock(ctx context.Context, path string, shared bool) (io.Closer, error)
}

// writer is a file that is being written.
type writer interface {
	io.WriteCloser
	Sync() error
}

// system is the disk of the operating system.
type system struct{}

func (system) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }
func (system) Rename(from, to string) error         { return os.Rename(from, to) }
func (system) Remove(path string) error             { return os.Remove(path) }
func (system) MkdirAll(path string) error           { return os.MkdirAll(path, 0o700) }

func (system) Create(path string) (writer, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (system) SyncDir(path string) error {
	if runtime.GOOS == "windows" { // which cannot, and keeps names in a journal
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return err
}

func (system) ReadDir(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return names, err
}

func (system) Lock(ctx context.Context, path string, shared bool) (io.Closer, error) {
	for {
		file, err := lockOnce(ctx, path, shared)
		if err != nil || isCurrent(file, path) {
			return file, err
		}
		_ = file.Close() // it was removed, and perhaps made again, in the meantime
	}
}

// isCurrent reports whether an open file still is the one with a path.
func isCurrent(file *os.File, path string) bool {
	open, err := file.Stat()
	named, missing := os.Stat(path)
	return err == nil && missing == nil && os.SameFile(open, named)
}

// lockOnce opens a file and locks it. It asks again and again rather than wait in the system,
// which would keep a thread and the open file for each wait that ctx has ended.
func lockOnce(ctx context.Context, path string, shared bool) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if shared {
		flags = os.O_RDONLY
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, maxLockPause) {
		err := tryLock(file, shared)
		switch {
		case err == nil:
			return file, nil
		case !isLocked(err):
			err = &os.PathError{Op: "lock", Path: path, Err: err}
		default:
			err = sleep.For(ctx, pause/2+rand.N(pause))
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
	}
}

// maxLockPause is about the longest pause between two tries to lock a file.
const maxLockPause = 20 * time.Millisecond

// queue lets one goroutine of the process at a time use a name, so that only that one
// waits in the system for the lock of a file.
type queue struct {
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is the lock of a name.
type turn struct {
	users int           // goroutines that have the name or wait for it
	held  chan struct{} // has an element while one has it
}

// awaitTurn waits for a name, until ctx ends. The caller gives the name back with leave.
func (q *queue) awaitTurn(ctx context.Context, name string) (leave func(), err error) {
	q.mu.Lock()
	t := q.turns[name]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		if q.turns == nil {
			q.turns = map[string]*turn{}
		}
		q.turns[name] = t
	}
	t.users++
	q.mu.Unlock()
	select {
	case t.held <- struct{}{}:
		return func() {
			<-t.held
			q.dropTurn(name, t)
		}, nil
	case <-ctx.Done():
		q.dropTurn(name, t)
		return nil, context.Cause(ctx)
	}
}

// dropTurn forgets a name that is no longer used.
func (q *queue) dropTurn(name string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(q.turns, name)
	}
}
