// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
)

// Backup writes a copy of the database, as it is at one version, to a folder,
// which must not exist or be empty, while commits go on. The version is not
// below that of any commit acknowledged before the call.
//
// Where the folder is on the same file system, the copy shares what it can of
// its files with the database by hard links: it is quick, takes little space
// until the database has changed, and nothing that the database does later
// changes it. It protects from mistakes, not from the loss of the disk: copy the
// folder elsewhere for that, with any tool. On another file system everything is
// copied. When Backup returns nil the copy is on the disk.
//
// The folder appears complete or not at all. It is filled under its name with
// ".partial" behind, which is removed after an error; what a crash leaves of it
// is refused by [Open] ([ErrUnfinished]), and removed by the next backup to the
// same name.
//
// [Open] opens the folder as a database of its own; [Restore] makes an
// independent copy of it; [Verify] checks it. An error, of which the folder's
// disk may be the cause, leaves the database as it was and in use. Backups are
// made one at a time; ctx ends waiting and copying. Close ends a backup with
// [kv.ErrClosed]. A database in memory has nothing to back up: [errors.ErrUnsupported].
// Nor is one that is open for reading backed up: [ErrReadOnly].
func (db *Database) Backup(ctx context.Context, dir string) (BackupInfo, error) {
	if db.disk == nil {
		return BackupInfo{}, fmt.Errorf("embedded: a database in memory cannot be backed up: %w", errors.ErrUnsupported)
	}
	if db.disk.options.ReadOnly {
		return BackupInfo{}, fmt.Errorf("embedded: backing up to %s: %w", dir, ErrReadOnly)
	}
	dir, err := db.disk.options.resolveDir(dir)
	if err != nil {
		return BackupInfo{}, err
	}
	ctx, end, err := db.disk.copies.begin(ctx)
	if err != nil {
		return BackupInfo{}, err
	}
	defer end()
	if err := db.disk.fault.Get(); err != nil {
		return BackupInfo{}, err
	}
	info, err := db.disk.backup(ctx, dir)
	if err != nil {
		return BackupInfo{}, fmt.Errorf("embedded: backing up to %s: %w", dir, err)
	}
	db.backups.Add(1)
	return info, nil
}
