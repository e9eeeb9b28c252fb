// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// baseDir is the folder of the base, within that of the database.
const baseDir = "base"

// disk is what a durable database has beyond one in memory.
type disk struct {
	lock     io.Closer
	base     *base
	log      *log
	fault    *fault
	absorber *absorber
	copies   *copies
	options  Options
	identity string
}

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
	dir, err := o.place(dir)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if err := makeDir(o.FS, dir); err != nil {
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
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db.disk.lock = lock
	if err := db.startDisk(o); err != nil {
		return nil, err
	}
	return db, nil
}

// makeDir makes a folder, and those that it lies in, whose names survive a
// crash.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fs, parent)
}

// recoverDatabase brings back what the folder holds: the base, and over it, as
// the window, the commits that only the log has.
func recoverDatabase(dir string, o Options) (*Database, error) {
	id, err := identify(o.FS, dir)
	if err != nil {
		return nil, err
	}
	origin, err := readBackup(o.FS, dir)
	if err != nil {
		return nil, err
	}
	f := newFault()
	b, err := openBase(o.FS.PathJoin(dir, baseDir), o, f)
	if err != nil {
		return nil, err
	}
	w := newWindow(false)
	w.journal = newJournal(o.window, o.WindowSize/2)
	l := &log{fs: o.FS, dir: dir, lazy: o.NoSync, cut: o.segmentSize}
	err = openLog(l, b.absorbed.Load(), func(version int64, m mutation) { w.apply(&m, version, false) })
	if err == nil {
		err = origin.reaches(o.FS, dir, l.last)
	}
	if err == nil {
		err = l.drop(b.absorbed.Load())
	}
	if err != nil {
		return nil, errors.Join(err, l.close(), b.close())
	}
	db := &Database{head: head{clock: newClock(l.last)}, disk: &disk{
		base: b, log: l, fault: f, copies: newCopies(), options: o, identity: id,
	}}
	first := &view{entries: w.entries.snapshot(), base: b}
	db.head.open(first)
	if first.metadata, err = first.get(metadataKey); err != nil {
		return nil, errors.Join(err, l.close(), b.close())
	}
	db.committer = committer{
		head: &db.head, window: w, base: b, log: l, fault: f,
		resolver: newResolver(w), watches: &db.watches, stats: &db.stats, metadata: first.metadata,
	}
	b.attend = db.committer.attend
	db.disk.absorber = &absorber{
		base: b, log: l, committer: &db.committer, fault: f,
		journal: w.journal, stats: &db.stats, age: o.window, flushAt: o.flushAt, flushed: b.absorbed.Load(),
		pressure: pressure{head: &db.head, journal: w.journal, limit: o.WindowSize, began: time.Now()},
		quit:     make(chan struct{}), done: make(chan struct{}),
	}
	db.committer.pressure = &db.disk.absorber.pressure
	db.committer.queue.limit = o.WindowSize
	return db, nil
}

// startDisk begins the work in the background.
func (db *Database) startDisk(o Options) error {
	db.committer.start()
	a := db.disk.absorber
	if _, segments := a.log.backlog(); segments > 2*maxSegments {
		if err := a.pass(); err != nil {
			close(a.done)
			return errors.Join(a.fault.raise("moving commits to the base", err), db.Close())
		}
	}
	if o.noAbsorb {
		close(a.done)
	} else {
		go a.run()
	}
	return nil
}

// close releases everything. The committer has stopped.
func (d *disk) close() error {
	d.copies.stop()
	d.absorber.stop()
	err := d.log.close()
	if err != nil {
		err = d.fault.raise("closing the log", err)
	}
	return errors.Join(err, d.base.close(), d.lock.Close())
}
