// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package file

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file, or returns an error at once. Of two open files with the same path,
// even in one process, only one can have the lock.
func tryLock(file *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isLocked reports whether tryLock failed because another open file has the lock.
func isLocked(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
