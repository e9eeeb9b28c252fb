// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commit"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// parts are what the notes of a folder tell about it.
type parts struct {
	fs       vfs.FS
	dir      string
	identity string        // "": none yet
	format   int           // of the folder
	backup   *BackupInfo   // nil: none
	closed   commitlog.End // where the log ended when the database was closed last
}

// readParts reads the notes of a folder.
func readParts(fs vfs.FS, dir string) (p parts, err error) {
	p = parts{fs: fs, dir: dir}
	if p.identity, p.format, err = readIdentity(fs, dir); err != nil {
		return p, err
	}
	if p.backup, err = readBackup(fs, dir); err != nil {
		return p, err
	}
	p.closed, err = readClosing(fs, dir)
	return p, err
}

// complete reports whether the folder was filled once: it must have base and log.
func (p *parts) complete() bool {
	return p.identity != "" || p.backup != nil || p.closed != commitlog.End{}
}

// hasBase reports whether there is a base, and returns an error if there must be
// one: also where there is a log, which the first opening begins after it.
func (p *parts) hasBase() (bool, error) {
	dir := p.fs.PathJoin(p.dir, baseDir)
	if exists, err := holdsBase(p.fs, dir); exists || err != nil {
		return exists, err
	}
	segments, err := commitlog.List(p.fs, p.dir)
	if err != nil {
		return false, err
	}
	if p.complete() || len(segments) > 0 {
		return false, &fault.CorruptError{File: dir, Reason: "the base is gone, or its file marker.manifest.*: the folder has other parts of a database, and is incomplete. To begin a new database, name another folder"}
	}
	return false, nil
}

// holdsBase reports whether a folder is a base.
func holdsBase(fs vfs.FS, dir string) (bool, error) {
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return false, fmt.Errorf("embedded: looking into %s: %w", dir, err)
	}
	return slices.ContainsFunc(names, base.IsManifestMarker), nil
}

// readLog reads the folder's log. It adds to options and replay what the folder's
// notes tell.
func (p *parts) readLog(o commitlog.Options, r commitlog.Replay) (*commitlog.Log, error) {
	o.FS, o.Dir = p.fs, p.dir
	r.Closed, r.Must, r.Old = p.closed, p.complete(), p.identity == "" || p.format < noteFormat
	l, err := commitlog.Read(o, r)
	if err != nil {
		return l, err
	}
	return l, p.backup.reaches(p.fs, p.dir, max(l.LastVersion(), r.Above))
}

// absorbed returns up to which version the folder's base has absorbed commits, 0
// if there is no base yet. It writes nothing.
func (p *parts) absorbed() (version int64, err error) {
	exists, err := p.hasBase()
	if err != nil || !exists {
		return 0, err
	}
	return base.ReadAbsorbed(p.fs, p.fs.PathJoin(p.dir, baseDir))
}

// openBase opens the folder's base, or makes it.
func (p *parts) openBase(o Options, f *fault.Fault) (*base.Base, error) {
	dir := p.fs.PathJoin(p.dir, baseDir)
	if err := files.MakeDir(p.fs, dir); err != nil {
		return nil, fmt.Errorf("embedded: making %s: %w", dir, err)
	}
	return base.Open(dir, base.Options{Fs: o.FS, CacheSize: o.CacheSize, MemTable: o.memTable, RunKeys: o.runKeys, FirstRepeat: o.firstRepeat}, f)
}

// disk is what a durable database has beyond one in memory.
type disk struct {
	lock     io.Closer
	base     *base.Base
	log      *commitlog.Log
	fault    *fault.Fault
	absorber *commit.Absorber
	keeper   *commitlog.Keeper
	copies   *copies
	options  Options
	dir      string
	identity string
}

// backup copies base and log to dir. The log is copied after the base and has
// lost nothing that the base had not on the disk: opening the copy replays what
// its base lacks, up to the last version that the copied log has.
func (d *disk) backup(ctx context.Context, dir string) (BackupInfo, error) {
	s, err := newPartialDir(d.options.FS, dir)
	if err != nil {
		return BackupInfo{}, err
	}
	defer d.log.Pin()()
	info := BackupInfo{Database: d.identity, Time: time.Now().UTC()}
	err = d.base.Checkpoint(ctx, s.fs.PathJoin(s.work, baseDir))
	if err == nil {
		info.Version, err = d.log.CopyTo(ctx, s.work)
	}
	if err == nil {
		err = writeNote(s.fs, s.fs.PathJoin(s.work, backupName), info.note())
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return BackupInfo{}, s.abandon(err)
	}
	return info, nil
}

// measure fills in what concerns the disk.
func (d *disk) measure(m *Metrics, s *commit.Stats) {
	m.Sync = readHistogram(d.log.SyncTimes(), 64*time.Microsecond)
	u := d.absorber.WindowUse()
	m.Delayed, m.Delays, m.DelayTime = u.Delayed, u.Delays, u.DelayTime
	m.WindowBytes, m.WindowLimit, m.WindowWrites = u.Bytes, u.Limit, u.Writes
	m.LogBytes, m.LogSegments = d.log.Backlog()
	m.AbsorbedVersion = d.base.AbsorbedVersion()
	m.AbsorbedWrites, m.AbsorbTime = s.AbsorbedWrites.Load(), time.Duration(s.AbsorbTime.Load())
	if err := d.fault.Get(); err != nil {
		m.Fault = err.Error()
	}
	b := d.base.Metrics()
	m.BaseBytes, m.BaseTables, m.BaseMemory = b.Bytes, b.Tables, b.Memory
	m.BaseCacheBytes, m.BaseCacheHits, m.BaseCacheMisses = b.CacheBytes, b.CacheHits, b.CacheMisses
	m.BaseCompactions, m.BaseCompactBytes = b.Compactions, b.CompactBytes
}

// close releases everything. The committer has stopped. Unless the disk has
// failed, it moves what the log has to the base, so that the next opening is fast, and notes
// how far the log went.
func (d *disk) close() error {
	d.copies.stop()
	d.absorber.Stop()
	if !d.options.noAbsorb && !d.options.ReadOnly {
		_ = d.absorber.Settle() // an error is the database's fault, and the log has everything
	}
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

// LogEntry is what the commit log has of one version: a batch of commits.
type LogEntry struct {
	Version  int64
	Writes   int    // keys set or cleared, and ranges cleared
	Bytes    int64  // of their keys and values
	FirstKey []byte // key of the first write, or begin of the range
}

// ReadLog calls do with each version of the commit log, ascending, of a database
// that no process has open, or of a backup. The log holds the newest commits: those
// that the base has on the disk are dropped in time. ReadLog changes nothing, keeps
// two segments in memory, and ends with the error of do.
//
// A [LockedError] says that the database is open, a [CorruptError] where the log
// cannot be read any further. Of the options only FS is used.
func ReadLog(ctx context.Context, dir string, o Options, do func(LogEntry) error) error {
	dir, err := o.resolveDir(dir)
	if err != nil {
		return err
	}
	o = o.withDefaults()
	lock, err := hold(o.FS, dir)
	if err != nil {
		return err
	}
	return errors.Join(listLog(ctx, lock.Guard(o.FS), dir, do), lock.Close())
}

func listLog(ctx context.Context, fs vfs.FS, dir string, do func(LogEntry) error) error {
	p, err := readParts(fs, dir)
	if err != nil {
		return err
	}
	exists, err := p.hasBase()
	if err == nil && !exists {
		err = fmt.Errorf("embedded: %s holds no database: %w", dir, iofs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	entries := entryBuilder{do: do}
	p.backup = nil // it may reach further than the log
	_, err = p.readLog(commitlog.Options{}, commitlog.Replay{
		Alone:         true,
		Apply:         entries.add,
		BeforeSegment: func(int64) error { return errors.Join(entries.err, context.Cause(ctx)) },
	})
	if err != nil {
		return err
	}
	entries.flush()
	return entries.err
}

// entryBuilder gathers the writes of each version into an entry.
type entryBuilder struct {
	do    func(LogEntry) error
	entry LogEntry // of the version that is being read; Writes is 0 before the first
	err   error    // of do, which is then called no more
}

func (b *entryBuilder) add(version int64, m mutation.Mutation) {
	if version != b.entry.Version {
		b.flush()
	}
	if b.entry.Writes == 0 {
		b.entry = LogEntry{Version: version, FirstKey: m.Key}
	}
	b.entry.Writes++
	b.entry.Bytes += int64(len(m.Key) + len(m.Value))
}

// flush reports the version that was read last.
func (b *entryBuilder) flush() {
	if b.err == nil && b.entry.Writes > 0 {
		b.err = b.do(b.entry)
	}
	b.entry = LogEntry{}
}
