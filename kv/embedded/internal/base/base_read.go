// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// OpenReadOnly opens the base in dir without writing anything. A base that cannot be
// read is a [fault.CorruptError], unless the file system has failed; one of a newer format is
// a [fault.FormatError].
func OpenReadOnly(fs vfs.FS, dir string, cacheSize int64) (*Base, error) {
	if err := checkFormat(fs, dir); err != nil {
		return nil, err
	}
	b := newBase(fs, fault.New())
	b.seal()
	forRows := cacheSize / rowShare
	b.rows = newRowCache(forRows)
	options := b.options(cacheSize-forRows, 1<<20)
	options.ReadOnly = true
	options.ErrorIfNotExists = true
	err := catchPanics(func() (err error) {
		b.db, err = pebble.Open(dir, options)
		return err
	})
	if err == nil {
		var absorbed int64
		absorbed, err = b.readAbsorbed()
		b.absorbed.Store(absorbed)
		b.oldestReader.Store(absorbed)
	}
	if err == nil {
		return b, nil
	}
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	if isDiskFault(err) {
		return nil, fmt.Errorf("embedded: reading the base in %s: %w", dir, err)
	}
	return nil, &fault.CorruptError{File: dir, Reason: fmt.Sprintf("the base cannot be read: %v", err), Err: err}
}

// isDiskFault reports whether an error is that of the operating system, and not
// that a file is missing: it says nothing about what the files hold.
func isDiskFault(err error) bool {
	path, call, number := (*iofs.PathError)(nil), (*os.SyscallError)(nil), syscall.Errno(0)
	fromSystem := errors.As(err, &path) || errors.As(err, &call) || errors.As(err, &number)
	return fromSystem && !errors.Is(err, iofs.ErrNotExist)
}

// ReadAbsorbed returns up to which version the base in dir has absorbed commits.
// It writes nothing.
func ReadAbsorbed(fs vfs.FS, dir string) (version int64, err error) {
	b, err := OpenReadOnly(fs, dir, 0)
	if err != nil {
		return 0, err
	}
	return b.absorbed.Load(), b.CloseStore()
}

// CloseStore closes a base that OpenReadOnly opened, and that no goroutine reads.
func (b *Base) CloseStore() error { return b.db.Close() }
