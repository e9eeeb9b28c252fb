// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// Restore copies a backup to a folder, which must not exist or be empty, checks
// the copy as [Verify] does, and returns what it holds. Nothing of the copy is
// shared with the backup, which is not changed and may lie on a read-only disk.
//
// The folder appears complete or not at all, as that of [Database.Backup] does.
// It is a database of its own, with another identity: its versions go on above
// those that the backup has. A folder in which a database is open gives a
// [LockedError]; any other that is not empty, an error that wraps [fs.ErrExist].
// Of the options only FS is used.
func Restore(ctx context.Context, backup, dir string, o Options) (BackupInfo, error) {
	backup, err := o.resolveDir(backup)
	if err != nil {
		return BackupInfo{}, err
	}
	if dir, err = o.resolveDir(dir); err != nil {
		return BackupInfo{}, err
	}
	o = o.withDefaults()
	info, err := restore(ctx, o.FS, backup, dir)
	if err != nil {
		return BackupInfo{}, fmt.Errorf("embedded: restoring %s to %s: %w", backup, dir, err)
	}
	return info, nil
}

func restore(ctx context.Context, fs vfs.FS, backup, dir string) (_ BackupInfo, err error) {
	lock, err := hold(fs, backup)
	if err != nil {
		return BackupInfo{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	info, err := readBackup(fs, backup)
	if err == nil && info == nil {
		err = errors.New("the folder is no backup: it has no file " + backupName)
	}
	if err != nil {
		return BackupInfo{}, err
	}
	s, err := newPartialDir(fs, dir)
	if err != nil {
		return BackupInfo{}, err
	}
	err = s.copyBackup(ctx, backup)
	var found *Report
	if err == nil {
		found, err = verify(ctx, fs, s.work)
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return BackupInfo{}, s.abandon(err)
	}
	info.Version = found.Version // that of a backup which was opened has grown
	return *info, nil
}

// hold takes the lock of a folder that was once opened. One that never was,
// such as a new backup, is left as it is.
func hold(fs vfs.FS, dir string) (*files.Lock, error) {
	begun, err := hasLock(fs, dir)
	if err != nil {
		return nil, err
	}
	if !begun {
		return files.WithoutLock(fs, dir)
	}
	lock, err := takeLock(fs, dir)
	if errors.Is(err, syscall.EROFS) {
		return files.WithoutLock(fs, dir) // no process can have it open for writing
	}
	return lock, err
}

// holdOpen is hold for a folder that stays open. One that was never opened gets its file
// LOCK until the end, if this process may and can write there.
func holdOpen(fs vfs.FS, dir string) (*files.Lock, error) {
	begun, err := hasLock(fs, dir)
	if err != nil || begun {
		return hold(fs, dir)
	}
	lock, err := takeLock(fs, dir)
	switch {
	case err == nil:
		lock.RemoveAtEnd(fs)
	case !errors.As(err, new(*LockedError)):
		return files.WithoutLock(fs, dir)
	}
	return lock, err
}

// hasLock reports whether a folder has a file LOCK.
func hasLock(fs vfs.FS, dir string) (bool, error) {
	if err := refuseUnfinished(fs, dir); err != nil {
		return false, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("embedded: looking into %s: %w", dir, err)
	}
	return slices.Contains(names, lockName), nil
}
