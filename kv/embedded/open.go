// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// baseDir is the folder of the base, within that of the database.
const baseDir = "base"

// Open opens the database in a folder, which it makes if there is none. Every
// commit is on the disk before it is acknowledged. Only the owner of the files may
// read them. A folder that holds other files and no database is refused: see
// [Options.AllowOtherFiles].
//
// The folder has one owner at a time: another one gets a [LockedError]. After a
// crash Open finds every acknowledged commit; those that were under way are
// there completely or not at all. Damage is a [CorruptError]. At most one Options can be
// given.
func Open(dir string, options ...Options) (*Database, error) {
	o, err := optional.Options("embedded", options)
	if err != nil {
		return nil, err
	}
	dir, err = o.resolveDir(dir)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.ReadOnly {
		return openReadOnly(dir, o)
	}
	begun, err := checkBeginning(o.FS, dir, o.AllowOtherFiles)
	if err != nil {
		return nil, err
	}
	if !begun {
		if err := makeDir(o.FS, dir); err != nil {
			return nil, err
		}
	}
	lock, err := lockDir(o.FS, dir)
	if err != nil {
		return nil, err
	}
	o.FS = lock.fs
	db, err := recoverDatabase(dir, o)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w (make room, or read what is there with Options.ReadOnly)", err)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db.disk.lock = lock
	if err := db.startDisk(o); err != nil {
		return nil, err
	}
	return db, nil
}

// makeDir makes a folder, unless there is one. Its name is on the disk when it returns, and
// so are those of the folders that it lies in.
func makeDir(fs vfs.FS, dir string) error {
	err := files.MakeDir(fs, dir)
	if err == nil {
		err = files.SyncPath(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("embedded: making %s: %w", dir, err)
	}
	return nil
}

// checkBeginning reports whether a folder has a database, and returns an error if opening it
// would begin one where none should be. It leaves the folder as it is.
func checkBeginning(fs vfs.FS, dir string, allowOthers bool) (begun bool, err error) {
	if err := refuseUnfinished(fs, dir); err != nil {
		return false, err
	}
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return false, fmt.Errorf("embedded: looking into %s: %w", dir, err)
	}
	begun, others := sortNames(names)
	switch {
	case begun:
		return true, nil
	case strings.HasSuffix(dir, partialSuffix):
		if err := checkHeld(fs, dir); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%s has the name of a folder that a backup or a restore fills: %w", dir, ErrUnfinished)
	case len(others) == 0 || allowOthers:
		return false, nil
	}
	if exists, err := holdsBase(fs, fs.PathJoin(dir, baseDir)); exists || err != nil {
		return false, err
	}
	return false, fmt.Errorf("embedded: %s holds no database, but %d other files, such as %s: name an empty folder, or one that does not exist; "+
		"Options.AllowOtherFiles begins a database among them: %w", dir, len(others), others[0], iofs.ErrExist)
}

// sortNames returns whether a folder with files of these names has a note of a
// database, and which of them belong to none.
func sortNames(names []string) (begun bool, others []string) {
	for _, name := range names {
		switch stem := strings.TrimSuffix(name, draftSuffix); {
		case name == identityName, name == closedName, name == backupName:
			begun = true
		case stem == identityName, stem == closedName, name == lockName, name == holderName, name == baseDir, commitlog.Owns(name):
		case strings.HasPrefix(name, "."), name == "lost+found": // of the system, or of other tools
		default:
			others = append(others, name)
		}
	}
	return begun, others
}

// recoverDatabase brings back what the folder holds: the base, and over it, as
// the window, the commits that only the log has.
func recoverDatabase(dir string, o Options) (*Database, error) {
	p, err := readParts(o.FS, dir)
	if err != nil {
		return nil, err
	}
	absorbed, err := p.absorbed()
	if err != nil {
		return nil, err
	}
	w := mvcc.NewDurableWindow(mvcc.NewJournal(o.window, o.settleAt()), o.leaps)
	// Nothing is written before all of the log was read.
	l, err := p.readLog(commitlog.Options{Lazy: o.NoSync, SegmentSize: o.segmentSize}, commitlog.Replay{Above: absorbed, Apply: w.Replay})
	if err != nil {
		return nil, err
	}
	db := &Database{disk: &disk{log: l, fault: fault.New(), copies: newCopies(), options: o, dir: dir}}
	if db.disk.base, err = p.openBase(o, db.disk.fault); err != nil {
		return nil, err
	}
	if err := db.startCommits(&p, w); err != nil {
		return nil, errors.Join(err, l.Release(), db.disk.base.Close())
	}
	return db, nil
}

// ErrReadOnly is why a database that was opened with [Options.ReadOnly] refuses
// commits that write, and backups. The code of such a commit's error is
// [kv.CodeTransactionReadOnly].
var ErrReadOnly = errors.New("embedded: the database is open for reading only")

// openReadOnly opens a folder and changes nothing in it.
func openReadOnly(dir string, o Options) (*Database, error) {
	lock, err := holdOpen(o.FS, dir)
	if err != nil {
		return nil, err
	}
	o.FS = lock.Guard(o.FS)
	db, err := readDatabase(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db.disk.lock = lock
	return db, nil
}

// readDatabase reads the log of a folder into a window over its base.
func readDatabase(dir string, o Options) (*Database, error) {
	p, err := readParts(o.FS, dir)
	if err != nil {
		return nil, err
	}
	exists, err := p.hasBase()
	if err == nil && !exists {
		err = fmt.Errorf("embedded: %s holds no database: %w", dir, iofs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	b, err := base.OpenReadOnly(o.FS, o.FS.PathJoin(dir, baseDir), o.CacheSize)
	if err != nil {
		return nil, err
	}
	db := &Database{disk: &disk{
		base: b, fault: fault.New(), copies: newCopies(), options: o, dir: dir, identity: p.identity,
	}}
	if err := db.replay(&p); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	db.committer.Refuse(fmt.Errorf("%w: %w", ErrReadOnly, kv.NewError(kv.CodeTransactionReadOnly, "the transaction writes")))
	return db, nil
}

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

// heldLock is a lock with its holder written down.
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
