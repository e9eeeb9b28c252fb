// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// Report is what [Verify] has read.
type Report struct {
	Version int64       // of the newest commit found
	Backup  *BackupInfo // what the folder is, or began as, a backup of; nil: of none
	Files   int         // files read
	Bytes   int64       // their size
	Keys    int64       // entries in the base: keys, older values of theirs, and deletions
	Writes  int64       // in the log, that the base does not have yet: keys set or cleared, and ranges cleared

	// Torn is how many bytes a crash has left behind the end of the log: of a
	// commit that was never acknowledged, and of what the file held before, when
	// it was an older part of the log. It is no damage: opening ignores them.
	Torn int64

	Damage []*fault.CorruptError // what is not as it was written
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
