// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// The lock is on one file and its holder is named in another: on Windows nothing else
// can read the locked file.
const (
	lockName   = "LOCK"
	holderName = "HOLDER"
)

// LockedError says that another database value, of this or another process, has
// the folder open. Nothing was changed. Close the other one first; to share a
// database between processes, let one of them serve the others.
type LockedError struct {
	Dir   string
	PID   int       // of the process that has it open; 0: unknown
	Host  string    // its machine; empty: unknown
	Since time.Time // when it was opened; zero: unknown
	Err   error     // what the operating system said
}

// Error implements error.
func (e *LockedError) Error() string {
	who := "another process"
	switch {
	case e.PID == os.Getpid():
		who = "this process"
	case e.PID != 0:
		who = fmt.Sprintf("process %d on %s", e.PID, e.Host)
	}
	if !e.Since.IsZero() {
		who += " since " + e.Since.Format(time.RFC3339)
	}
	return fmt.Sprintf("embedded: %s is already open in %s: a database has one owner at a time; close it there first", e.Dir, who)
}

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.Err }

// ErrMoved says that the folder of an open database was renamed, removed or replaced,
// or its file LOCK was. The database goes no further: the path may lead to another
// database by now. Every commit that was acknowledged is in the folder, wherever that
// is. Close the database and open it there.
var ErrMoved = files.ErrMoved

// takeLock takes the lock of a folder, without saying so to others.
func takeLock(fsys vfs.FS, dir string) (*files.Lock, error) {
	lock, err := files.TakeLock(fsys, fsys.PathJoin(dir, lockName))
	if err == nil {
		return lock, nil
	}
	if !errors.Is(err, files.ErrHeld) {
		return nil, fmt.Errorf("embedded: locking %s: %w", dir, err)
	}
	held := &LockedError{Dir: dir, Err: err}
	held.readHolder(fsys)
	return nil, held
}

// lockDir takes the lock of a folder and names this process as its holder in a file.
func lockDir(fsys vfs.FS, dir string) (*heldLock, error) {
	lock, err := takeLock(fsys, dir)
	if err != nil {
		return nil, err
	}
	fsys = lock.Guard(fsys)
	if err := writeHolder(fsys, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: locking %s: %w", dir, err), lock.Close())
	}
	return &heldLock{lock, fsys, fsys.PathJoin(dir, holderName)}, nil
}

// heldLock is a lock whose holder is written down.
type heldLock struct {
	io.Closer
	fs     vfs.FS // which refuses to use the folder once it was moved
	holder string
}

// Close implements [io.Closer].
func (l *heldLock) Close() error {
	_ = l.fs.Remove(l.holder) // it is only for people, and is replaced by the next
	return l.Closer.Close()
}

func writeHolder(fsys vfs.FS, dir string) error {
	file, err := fsys.Create(fsys.PathJoin(dir, holderName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil || strings.ContainsAny(host, " \n") || host == "" {
		host = "this-machine"
	}
	_, err = fmt.Fprintf(file, "%d %s %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	return errors.Join(err, file.Close())
}

// readHolder fills in what is known of the holder: it may be about to write it.
func (e *LockedError) readHolder(fsys vfs.FS) {
	text, err := files.ReadBeginning(fsys, fsys.PathJoin(e.Dir, holderName))
	if err != nil {
		return
	}
	var since string
	if n, _ := fmt.Sscanf(text, "%d %s %s", &e.PID, &e.Host, &since); n < 2 {
		e.PID, e.Host = 0, ""
		return
	}
	if at, err := time.Parse(time.RFC3339, since); err == nil {
		e.Since = at
	}
}
