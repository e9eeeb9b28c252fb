// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
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
		return false, &fault.CorruptError{File: dir, Reason: "the base is gone, or the file in it whose name begins with marker.manifest: the folder has other parts of a database, and is incomplete. To begin a new database, name another folder"}
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
