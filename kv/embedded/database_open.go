// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// startCommits makes the folder, whose log is in the window, ready for commits.
func (db *Database) startCommits(p *parts, w *window) (err error) {
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
	db.committer.reports.notify = db.committer.tryAddVacancies
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

// replay reads the log into a window, and puts the database together.
func (db *Database) replay(p *parts) (err error) {
	d, w := db.disk, newWindow(false)
	w.journal = newJournal(d.options.window, d.options.WindowSize)
	absorbed := d.base.AbsorbedVersion()
	if d.log, err = p.readLog(commitlog.Options{}, commitlog.Replay{Above: absorbed, Apply: w.applyLogged}); err != nil {
		return err
	}
	return db.assemble(w)
}
