// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"

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

	// Torn is how many bytes a crash has left behind the end of the log: of a
	// commit that was never acknowledged, and of what the file held before, when
	// it was an older part of the log. It is no damage: opening ignores them.
	Torn int64

	Damage []*fault.CorruptError // what is not as it was written
}

// Verify reads all of a database that nobody has open, or of a backup, and
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
	dir, err := o.place(dir)
	if err != nil {
		return &Report{}, err
	}
	o = o.withDefaults()
	lock, err := hold(o.FS, dir)
	if err != nil {
		return &Report{}, err
	}
	r, err := verify(ctx, o.FS, dir)
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
	if err := v.notes(); err != nil {
		return err
	}
	absorbed, err := v.base()
	if err != nil {
		return err
	}
	return v.log(absorbed)
}

// found keeps damage for the report, and returns other errors.
func (v *verifier) found(err error) error {
	var damage *fault.CorruptError
	if errors.As(err, &damage) {
		v.report.Damage = append(v.report.Damage, damage)
		return nil
	}
	return err
}

// notes reads what the folder is. A note that is damaged is one that is there.
func (v *verifier) notes() (err error) {
	v.parts = parts{fs: v.fs, dir: v.dir}
	if v.parts.identity, err = readIdentity(v.fs, v.dir); err != nil {
		v.parts.identity = "damaged"
		if err = v.found(err); err != nil {
			return err
		}
	}
	if v.parts.backup, err = readBackup(v.fs, v.dir); err != nil {
		if err = v.found(err); err != nil {
			return err
		}
	}
	v.report.Backup = v.parts.backup
	v.parts.closed, err = readClosing(v.fs, v.dir)
	if p := &v.parts; err == nil && p.identity == "" && p.backup == nil && p.closed.Segment > 0 {
		err = &fault.CorruptError{File: v.fs.PathJoin(v.dir, identityName), Reason: "the file is gone; opening the database gives it another name"}
	}
	return v.found(err)
}

// log checks the segments. What the base has absorbed need not be there.
func (v *verifier) log(absorbed int64) error {
	l, err := v.parts.readLog(commitlog.Options{}, commitlog.Replay{
		Above: absorbed,
		Apply: func(int64, mutation.Mutation) {},
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
	return v.found(err)
}
