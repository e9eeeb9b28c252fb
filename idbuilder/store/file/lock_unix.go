// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package file

import (
	"errors"
	"os"
	"syscall"
)

// flock locks an open file. Of two open files with the same path, even in one process,
// only one can have the lock.
func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func how(shared bool) int {
	if shared {
		return syscall.LOCK_SH
	}
	return syscall.LOCK_EX
}

func tryLock(file *os.File, shared bool) error { return flock(file, how(shared)|syscall.LOCK_NB) }

func lock(file *os.File, shared bool) error { return flock(file, how(shared)) }
