// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

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
// there completely or not at all. Damage is a [CorruptError].
func Open(dir string) (*Database, error) { return OpenWith(dir, Options{}) }

// OpenWith is [Open] with options.
func OpenWith(dir string, o Options) (*Database, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	dir, err := o.resolveDir(dir)
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
	w := mvcc.NewDurableWindow(mvcc.NewJournal(o.window, o.WindowSize/2), o.leaps)
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
