// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// baseDir is the folder of the base, within that of the database.
const baseDir = "base"

// disk is what a durable database has beyond one in memory.
type disk struct {
	lock     io.Closer
	base     *base.Base
	log      *commitlog.Log
	fault    *fault.Fault
	absorber *absorber
	keeper   *commitlog.Keeper
	copies   *copies
	options  Options
	dir      string
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
	w := newWindow(false)
	w.journal = newJournal(o.window, o.WindowSize/2)
	// Nothing is written before all of the log was read.
	l, err := p.readLog(commitlog.Options{Lazy: o.NoSync, SegmentSize: o.segmentSize}, commitlog.Replay{Above: absorbed, Apply: w.applyLogged})
	if err != nil {
		return nil, err
	}
	db := &Database{disk: &disk{log: l, fault: fault.New(), copies: newCopies(), options: o, dir: dir}}
	if db.disk.base, err = p.openBase(o, db.disk.fault); err != nil {
		return nil, err
	}
	if err := db.begin(&p, w); err != nil {
		return nil, errors.Join(err, l.Release(), db.disk.base.Close())
	}
	return db, nil
}

// openBase opens the folder's base, or makes it.
func (p *parts) openBase(o Options, f *fault.Fault) (*base.Base, error) {
	dir := p.fs.PathJoin(p.dir, baseDir)
	if err := files.MakeDir(p.fs, dir); err != nil {
		return nil, fmt.Errorf("embedded: making %s: %w", dir, err)
	}
	return base.Open(dir, base.Options{Fs: o.FS, CacheSize: o.CacheSize, MemTable: o.memTable}, f)
}

// begin makes the folder, whose log is in the window, ready for commits.
func (db *Database) begin(p *parts, w *window) (err error) {
	d := db.disk
	absorbed := d.base.AbsorbedVersion()
	if err = d.log.Start(absorbed); err == nil {
		err = d.log.Drop(absorbed)
	}
	if d.identity = p.identity; err == nil && d.identity == "" {
		d.identity, err = writeIdentity(p.fs, p.dir)
	}
	if err != nil {
		return err
	}
	return db.assemble(w)
}

// assemble makes the parts of a durable database, over what it holds.
func (db *Database) assemble(w *window) (err error) {
	d, o := db.disk, db.disk.options
	db.client, db.tracer = ryw.NewClient(&engine{db}, o.Transactions), o.Tracer
	db.head.clock = newClock(max(d.log.LastVersion(), d.base.AbsorbedVersion()))
	reports := newVacancyReports()
	first := &view{entries: w.entries.Snapshot(), base: d.base, reports: reports}
	db.head.open(first, o.WindowSize/historyShare)
	if first.metadata, err = first.get(metadataKey); err != nil {
		return err
	}
	db.committer = committer{
		head: &db.head, window: w, base: d.base, reports: reports, log: d.log, fault: d.fault,
		resolver: newResolver(w), watches: &db.watches, stats: &db.stats, readers: &db.readers, metadata: first.metadata,
	}
	db.committer.reports.attend = db.committer.attend
	d.absorber = &absorber{
		base: d.base, log: d.log, syncLog: d.log.Sync, committer: &db.committer, fault: d.fault,
		journal: w.journal, stats: &db.stats, age: o.window, flushAt: o.flushAt, flushed: d.base.AbsorbedVersion(),
		pressure: pressure{head: &db.head, journal: w.journal, limit: o.WindowSize, began: time.Now()},
		quit:     make(chan struct{}), done: make(chan struct{}),
	}
	d.keeper = commitlog.NewKeeper(d.log, d.fault)
	db.committer.pressure = &d.absorber.pressure
	db.committer.queue.limit = o.WindowSize
	return nil
}

// startDisk begins the work in the background.
func (db *Database) startDisk(o Options) error {
	db.committer.start()
	a := db.disk.absorber
	if _, segments := a.log.Backlog(); segments > 2*maxSegments {
		if err := a.pass(); err != nil {
			close(a.done)
			return errors.Join(a.fault.Raise("moving commits to the base", err), db.Close())
		}
	}
	if o.keepEvery > 0 {
		db.disk.keeper.Start(o.keepEvery)
	}
	if o.noAbsorb {
		close(a.done)
	} else {
		go a.run()
	}
	return nil
}

// close releases everything. The committer has stopped. Unless the disk has
// failed, it notes how far the log went.
func (d *disk) close() error {
	d.copies.stop()
	d.absorber.stop()
	d.keeper.Stop()
	c, err := d.log.Close()
	if err == nil && d.fault.Get() == nil && !d.options.ReadOnly {
		err = writeClosing(d.options.FS, d.dir, c)
	}
	if err != nil {
		err = d.fault.Raise("closing the log", err)
	}
	return errors.Join(err, d.base.Close(), d.lock.Close())
}
