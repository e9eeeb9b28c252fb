// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Report is what [Verify] has read.
type Report struct {
	Version int64       // of the newest commit found
	Backup  *BackupInfo // what the folder is, or began as, a backup of; nil: of none
	Files   int         // files read
	Bytes   int64       // their size
	Keys    int64       // entries in the base: keys, older values of theirs, and deletions
	Writes  int64       // in the log, that the base does not have yet: keys set or cleared, and ranges cleared

	// Torn is how many bytes a crash has left after the end of the log: of a
	// commit that was never acknowledged, and of what the file held before, when
	// it was an older part of the log. It is not damage: opening ignores them.
	Torn int64

	Damage []*CorruptError // what is not as it was written
}

// Verify reads all of a database that no process has open, or of a backup, and
// checks it: every record of the log, its checksum and order; every block of the
// base's tables, its checksum; the order of keys within and between them. It
// changes nothing.
//
// The error is nil if all is well. Damage is reported as [CorruptError]s, joined
// in the error and listed in the report, which is never nil: file, offset,
// reason, and the keys concerned where they are known. The log is read up to the
// first damage, which is where opening would stop. What is damaged cannot be
// mended: restore a backup. If there is none, the report tells which files are
// whole.
//
// Other errors say why not all could be read: a [LockedError] if the database is
// open. To check one that is, back it up on the same file system and verify the
// backup: they share their tables. Of the options only FS is used.
func Verify(ctx context.Context, dir string, o Options) (*Report, error) {
	dir, err := o.resolveDir(dir)
	if err != nil {
		return &Report{}, err
	}
	o = o.withDefaults()
	lock, err := hold(o.FS, dir)
	if err != nil {
		return &Report{}, err
	}
	r, err := verify(ctx, lock.Guard(o.FS), dir)
	return r, errors.Join(err, lock.Close())
}

// verifier checks one folder.
type verifier struct {
	ctx    context.Context
	fs     vfs.FS
	dir    string
	report *Report
	parts  parts
}

func verify(ctx context.Context, fs vfs.FS, dir string) (*Report, error) {
	v := verifier{ctx: ctx, fs: fs, dir: dir, report: &Report{}}
	if err := v.run(); err != nil {
		return v.report, fmt.Errorf("embedded: verifying %s: %w", dir, err)
	}
	var errs []error
	for _, damage := range v.report.Damage {
		errs = append(errs, damage)
	}
	return v.report, errors.Join(errs...)
}

func (v *verifier) run() error {
	if err := v.checkNotes(); err != nil {
		return err
	}
	absorbed, err := v.checkBase()
	if err != nil {
		return err
	}
	return v.checkLog(absorbed)
}

// keepDamage keeps damage for the report, and returns other errors.
func (v *verifier) keepDamage(err error) error {
	var damage *fault.CorruptError
	if errors.As(err, &damage) {
		v.report.Damage = append(v.report.Damage, damage)
		return nil
	}
	return err
}

// checkNotes reads what the folder is. A note that is damaged is one that is there. Without an
// identity nothing is lost: opening gives the database another one.
func (v *verifier) checkNotes() (err error) {
	v.parts = parts{fs: v.fs, dir: v.dir}
	if v.parts.identity, v.parts.format, err = readIdentity(v.fs, v.dir); err != nil {
		v.parts.identity = "damaged"
		if err = v.keepDamage(err); err != nil {
			return err
		}
	}
	if v.parts.backup, err = readBackup(v.fs, v.dir); err != nil {
		if err = v.keepDamage(err); err != nil {
			return err
		}
	}
	v.report.Backup = v.parts.backup
	v.parts.closed, err = readClosing(v.fs, v.dir)
	return v.keepDamage(err)
}

// checkLog checks the segments. What the base has absorbed need not be there.
func (v *verifier) checkLog(absorbed int64) error {
	l, err := v.parts.readLog(commitlog.Options{}, commitlog.Replay{
		Above: absorbed,
		Apply: func(int64, mutation.Mutation) { v.report.Writes++ },
		BeforeSegment: func(size int64) error {
			v.report.Files++
			v.report.Bytes += size
			return context.Cause(v.ctx)
		},
	})
	v.report.Torn, v.report.Version = l.TornBytes(), l.LastVersion()
	if absorbed != math.MaxInt64 {
		v.report.Version = max(v.report.Version, absorbed)
	}
	return v.keepDamage(err)
}

// checkBase checks the base and returns the version that it has absorbed, the highest
// possible if that cannot be known.
func (v *verifier) checkBase() (absorbed int64, err error) {
	dir := v.fs.PathJoin(v.dir, baseDir)
	exists, err := v.parts.hasBase()
	if err == nil && !exists {
		err = &fault.CorruptError{File: dir, Reason: "the folder has no base: it is not a database, or its files are gone"}
	}
	if err != nil {
		return math.MaxInt64, v.keepDamage(err)
	}
	names, err := v.fs.List(dir)
	if err != nil {
		return 0, err
	}
	b, err := base.OpenReadOnly(v.fs, dir, 1<<20)
	if err != nil {
		return math.MaxInt64, errors.Join(v.keepDamage(err), v.checkTables(dir, base.TableFiles(names)))
	}
	defer func() { err = errors.Join(err, b.CloseStore()) }()
	live, err := b.LiveTables()
	if err != nil {
		return 0, err
	}
	damaged := len(v.report.Damage)
	if err := v.checkTables(dir, live); err != nil {
		return 0, err
	}
	if len(v.report.Damage) == damaged {
		err = v.keepDamage(v.checkOrder(b, dir))
	}
	return b.AbsorbedVersion(), err
}

func (v *verifier) checkTables(dir string, tables []base.Table) error {
	for _, t := range tables {
		size, err := t.Check(v.ctx, v.fs, dir)
		if size >= 0 {
			v.report.Files++
			v.report.Bytes += size
		}
		if cause := context.Cause(v.ctx); cause != nil {
			return cause
		}
		if err == nil {
			continue
		}
		damage := &fault.CorruptError{File: v.fs.PathJoin(dir, t.Name), Reason: err.Error()}
		damage.Offset = base.DamagedAt(err)
		if t.Keys != "" {
			damage.Reason += "; the file holds " + t.Keys
		}
		v.report.Damage = append(v.report.Damage, damage)
	}
	return nil
}

// checkOrder checks the order of keys in the base.
func (v *verifier) checkOrder(b *base.Base, dir string) (err error) {
	if v.report.Keys, err = b.CheckOrder(); err != nil {
		return &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the tables do not fit each other: %v", err)}
	}
	return nil
}
