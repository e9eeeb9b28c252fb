// SPDX-License-Identifier: Apache-2.0

// Package files creates, syncs and renames files. Its functions bring contents and
// names to the disk before they return.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SyncDir brings the names in a folder to the disk.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WriteSynced writes a file; its content is on the disk when WriteSynced returns.
func WriteSynced(fs vfs.FS, name string, content []byte) error {
	file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// ReadBeginning reads the beginning of a file.
func ReadBeginning(fs vfs.FS, name string) (text string, err error) {
	file, err := fs.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	return string(data), err
}

// MakeDir makes a folder, and those of its parents that do not exist. The names of what
// it makes survive a crash.
func MakeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := MakeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return SyncDir(fs, parent)
}

// SyncPath brings the names of a folder that exists, and of those that it lies in, to the
// disk: what made them may not have. It leaves out folders that this process may not
// read, and those that do not keep what is written.
func SyncPath(fs vfs.FS, dir string) error {
	for parent := fs.PathDir(dir); parent != dir; dir, parent = parent, fs.PathDir(parent) {
		err := SyncDir(fs, parent)
		skip := func(target error) bool { return errors.Is(err, target) }
		if err != nil && !slices.ContainsFunc([]error{iofs.ErrPermission, syscall.EROFS, syscall.EINVAL, syscall.ENOTSUP}, skip) {
			return err
		}
	}
	return nil
}

// IsRegular reports whether a name is that of a regular file: of no folder, and of no link
// to a file elsewhere.
func IsRegular(fs vfs.FS, name string) (bool, error) {
	if OnSystem(fs) {
		info, err := os.Lstat(name)
		return err == nil && info.Mode().IsRegular(), err
	}
	info, err := fs.Stat(name)
	return err == nil && !info.IsDir(), err
}

// Copy copies the first bytes of a file, all if size is negative, and syncs
// the copy.
func Copy(ctx context.Context, fs vfs.FS, from, to string, size int64) (n int64, err error) {
	src, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	var r io.Reader = src
	if size >= 0 {
		r = io.LimitReader(src, size)
	}
	n, err = io.Copy(dst, untilDone{ctx, r})
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("%s has %d bytes, want %d: %w", from, n, size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = dst.Sync()
	}
	return n, errors.Join(err, dst.Close())
}

// untilDone reads until its context is done.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (u untilDone) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
