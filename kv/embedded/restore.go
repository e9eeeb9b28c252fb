// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"runtime"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
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
		err = errors.New("the folder is not a backup: it has no file " + backupName)
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

// unfinishedName marks a folder that is being filled, from before its first
// file until after its last.
const unfinishedName = "UNFINISHED"

// partialSuffix ends the name of a folder that is being filled.
const partialSuffix = ".partial"

// ErrUnfinished says that a backup or a restore into a folder was interrupted
// while it wrote. The folder is not opened: some of its data may be missing.
// Remove the folder and begin again.
var ErrUnfinished = errors.New("embedded: the backup or restore into this folder was interrupted; remove the folder and begin again")

// refuseUnfinished returns ErrUnfinished for a folder that was not filled
// completely, a LockedError for one that is being filled, and an error for a file.
func refuseUnfinished(fs vfs.FS, dir string) error {
	if info, err := fs.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("embedded: %s is a file: name the folder of the database", dir)
	}
	_, err := fs.Stat(fs.PathJoin(dir, unfinishedName))
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("embedded: looking into %s: %w", dir, err)
	}
	if err := checkHeld(fs, dir); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", dir, ErrUnfinished)
}

// checkHeld returns a LockedError for a folder that another owner has. It leaves the folder
// as it is.
func checkHeld(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(fs.PathJoin(dir, lockName)); err != nil {
		return nil
	}
	lock, err := takeLock(fs, dir)
	if err == nil {
		err = lock.Close()
	}
	if errors.Is(err, syscall.EROFS) && !errors.As(err, new(*LockedError)) {
		return nil // nothing can be filled there
	}
	return err
}

// partialDir is a folder that is filled next to the one that it is to become: that
// one appears at once, complete and on the disk, or not at all.
type partialDir struct {
	fs   vfs.FS
	dir  string // what it is to become
	work string // where it is filled
	lock io.Closer

	moved bool
}

// newPartialDir begins to fill a folder, which must not exist, or be empty.
func newPartialDir(fs vfs.FS, dir string) (*partialDir, error) {
	if err := checkFillable(fs, dir); err != nil {
		return nil, err
	}
	s := &partialDir{fs: fs, dir: dir, work: dir + partialSuffix}
	if err := makeDir(fs, s.work); err != nil {
		return nil, err
	}
	lock, err := lockDir(fs, s.work)
	if err != nil {
		return nil, err
	}
	s.lock = lock
	if err := s.markAndEmpty(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// checkFillable returns an error if a folder cannot be filled.
func checkFillable(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: looking into %s: %w", dir, err)
	}
	if slices.Contains(names, lockName) {
		if err := checkHeld(fs, dir); err != nil {
			return err
		}
	}
	return fmt.Errorf("embedded: %s is not empty (it holds %s): name a folder that does not exist: %w", dir, names[0], iofs.ErrExist)
}

// markAndEmpty marks the folder, which it empties if an interrupted attempt has left
// something there.
func (s *partialDir) markAndEmpty() error {
	names, err := s.fs.List(s.work)
	if err != nil {
		return fmt.Errorf("embedded: looking into %s: %w", s.work, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == lockName || name == holderName })
	if len(names) > 0 && !leftBehind(names) {
		return fmt.Errorf("embedded: %s is in the way (it holds %s): rename or remove it: %w", s.work, names[0], iofs.ErrExist)
	}
	err = s.mark()
	if err == nil {
		err = s.clear()
	}
	if err != nil {
		return fmt.Errorf("embedded: preparing %s: %w", s.work, err)
	}
	return nil
}

// leftBehind reports whether a folder with these files is one that an
// interrupted attempt has left: marked, or complete but for its name.
func leftBehind(names []string) bool {
	complete := slices.Contains(names, backupName) && !slices.Contains(names, identityName)
	return complete || slices.Contains(names, unfinishedName)
}

// mark says that the folder is not complete.
func (s *partialDir) mark() error {
	if err := files.WriteSynced(s.fs, s.fs.PathJoin(s.work, unfinishedName), nil); err != nil {
		return err
	}
	return files.SyncDir(s.fs, s.work)
}

// finish makes the folder what it is to become. Its files are synced.
func (s *partialDir) finish() error {
	err := errors.Join(files.SyncDir(s.fs, s.fs.PathJoin(s.work, baseDir)), files.SyncDir(s.fs, s.work))
	if err == nil {
		err = s.removeFiles(s.work, unfinishedName, holderName)
	}
	if err == nil {
		err = files.SyncDir(s.fs, s.work)
	}
	if err == nil {
		err = s.moveIntoPlace()
	}
	if err != nil {
		return fmt.Errorf("embedded: finishing %s: %w", s.dir, err)
	}
	return s.unlock()
}

// moveIntoPlace gives the folder its name, and only then removes its file LOCK: without
// that another process could begin to fill the folder, and empty it.
func (s *partialDir) moveIntoPlace() error {
	if err := s.fs.Remove(s.dir); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err // it is no longer empty
	}
	if runtime.GOOS == "windows" { // which does not rename a folder with an open file in it
		if err := s.unlock(); err != nil {
			return err
		}
	}
	if err := s.fs.Rename(s.work, s.dir); err != nil {
		return err
	}
	s.moved = true
	err := s.removeFiles(s.dir, lockName)
	return errors.Join(err, files.SyncDir(s.fs, s.dir), files.SyncDir(s.fs, s.fs.PathDir(s.dir)))
}

// unlock releases the lock, if it is held.
func (s *partialDir) unlock() error {
	lock := s.lock
	if lock == nil {
		return nil
	}
	s.lock = nil
	return lock.Close()
}

// removeFiles removes files, as far as there are any.
func (s *partialDir) removeFiles(dir string, names ...string) (err error) {
	for _, name := range names {
		if removed := s.fs.Remove(s.fs.PathJoin(dir, name)); !errors.Is(removed, iofs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// abandon removes what was filled, after cause, and returns what is to be
// reported.
func (s *partialDir) abandon(cause error) error {
	if s.moved {
		return errors.Join(cause, s.unlock()) // it is complete, and perhaps not on the disk
	}
	err := s.mark()
	if err == nil {
		err = s.clear()
	}
	if err == nil {
		err = s.removeWork()
	}
	if err != nil {
		err = fmt.Errorf("embedded: removing what was copied to %s: %w", s.work, err)
	}
	return errors.Join(cause, err, s.unlock())
}

// removeWork removes the folder, which has nothing left but the files that mark it as being
// filled. Once LOCK is removed another process may begin to fill it: then it stays.
func (s *partialDir) removeWork() error {
	err := s.removeFiles(s.work, unfinishedName, holderName)
	if runtime.GOOS == "windows" { // which does not remove an open file
		err = errors.Join(err, s.unlock())
	}
	if err == nil {
		err = s.removeFiles(s.work, lockName)
	}
	if err != nil {
		return err
	}
	if err := s.fs.Remove(s.work); err != nil && !errors.Is(err, iofs.ErrExist) {
		return err
	}
	return nil
}

// clear removes what was filled, the mark excepted: it must outlive the rest.
func (s *partialDir) clear() error {
	names, err := s.fs.List(s.work)
	for _, name := range names {
		if name != unfinishedName && name != lockName && name != holderName {
			err = errors.Join(err, s.fs.RemoveAll(s.fs.PathJoin(s.work, name)))
		}
	}
	return err
}

// copyBackup copies the files of a backup that a database is restored from. It leaves all
// others where they are, whatever they may be.
func (s *partialDir) copyBackup(ctx context.Context, backup string) error {
	if err := s.fs.MkdirAll(s.fs.PathJoin(s.work, baseDir), 0o755); err != nil {
		return err
	}
	if err := s.copyFiles(ctx, backup, "", isRestored); err != nil {
		return err
	}
	return s.copyFiles(ctx, backup, baseDir, base.Owns)
}

// isRestored reports whether a restore copies the file of this name: the log, and what the
// notes of the backup say. An identity belongs to one folder.
func isRestored(name string) bool {
	return name == backupName || name == closedName || commitlog.IsSegment(name)
}

// copyFiles copies the files of a folder of a backup with these names.
func (s *partialDir) copyFiles(ctx context.Context, backup, sub string, wanted func(name string) bool) error {
	names, err := s.fs.List(s.fs.PathJoin(backup, sub))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		from, to := s.fs.PathJoin(backup, sub, name), s.fs.PathJoin(s.work, sub, name)
		switch regular, err := files.IsRegular(s.fs, from); {
		case err != nil:
			return err
		case !regular:
			return fmt.Errorf("%s is a link, a folder or a device, and no file of a backup: put the file itself there", from)
		}
		if _, err := files.Copy(ctx, s.fs, from, to, -1); err != nil {
			return err
		}
	}
	return nil
}
