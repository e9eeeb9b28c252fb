// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// baseDir is the folder of the base, within that of the database.
const baseDir = "base"

// Open opens the database in a folder, which it makes if there is none. Every
// commit is on the disk before it is acknowledged.
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
	if err := files.MakeDir(o.FS, dir); err != nil {
		return nil, fmt.Errorf("embedded: making %s: %w", dir, err)
	}
	if err := refuseUnfinished(o.FS, dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(o.FS, dir)
	if err != nil {
		return nil, err
	}
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
