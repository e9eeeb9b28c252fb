// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"errors"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commit"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// startCommits makes the folder, whose log is in the window, ready for commits.
func (db *Database) startCommits(p *parts, w *mvcc.Window) (err error) {
	d := db.disk
	absorbed := d.base.AbsorbedVersion()
	// The order matters. In a folder of format 1 a segment with a torn header is not damage:
	// Start replaces it before the folder gets the new format. An older version cuts off a
	// segment that it cannot read: until the folder has the new format, that segment has no
	// commits, and Drop has not removed those before it.
	if err := d.log.Start(absorbed); err != nil {
		return err
	}
	if d.identity = cmp.Or(p.identity, newID()); p.identity == "" || p.format < noteFormat {
		if err := writeIdentity(p.fs, p.dir, d.identity); err != nil {
			return err
		}
	}
	if err := d.log.Drop(absorbed); err != nil {
		return err
	}
	return db.assemble(w)
}

// assemble makes the parts of a durable database, over what it holds.
func (db *Database) assemble(w *mvcc.Window) (err error) {
	d, o := db.disk, db.disk.options
	db.client, db.tracer = ryw.NewClient(&engine{db}, o.Transactions), o.Tracer
	if err := db.head.Open(w, d.base, max(d.log.LastVersion(), d.base.AbsorbedVersion()), o.WindowSize); err != nil {
		return err
	}
	db.committer = commit.NewCommitter(commit.Options{
		Head: &db.head, Window: w, Watches: &db.watches, Readers: &db.readers,
		Log: d.log, Fault: d.fault, QueueLimit: cmp.Or(o.queueSize, o.WindowSize),
	})
	d.absorber = commit.NewAbsorber(db.committer, commit.AbsorberOptions{
		Base: d.base, Log: d.log, Fault: d.fault, Age: o.window, FlushAt: o.flushAt, WindowSize: o.WindowSize, SyncLog: o.syncLog,
	})
	d.keeper = commitlog.NewKeeper(d.log, d.fault)
	return nil
}

// startDisk begins the work in the background.
func (db *Database) startDisk(o Options) error {
	db.committer.Start()
	if err := db.disk.absorber.CatchUp(); err != nil {
		return errors.Join(err, db.Close())
	}
	if o.keepEvery > 0 {
		db.disk.keeper.Start(o.keepEvery)
	}
	if !o.noAbsorb {
		db.disk.absorber.Start()
	}
	return nil
}

// replay reads the log into a window, and puts the database together.
func (db *Database) replay(p *parts) (err error) {
	d := db.disk
	w := mvcc.NewDurableWindow(mvcc.NewJournal(d.options.window, d.options.WindowSize), d.options.leaps)
	absorbed := d.base.AbsorbedVersion()
	if d.log, err = p.readLog(commitlog.Options{}, commitlog.Replay{Above: absorbed, Apply: w.Replay}); err != nil {
		return err
	}
	return db.assemble(w)
}
