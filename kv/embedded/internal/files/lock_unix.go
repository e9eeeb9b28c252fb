// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
)

// setOpenFileLock is Linux's F_OFD_SETLK: fcntl's lock, of an open file and not of
// the process.
const setOpenFileLock = 37

// lockFile opens a file and takes its lock.
func lockFile(path string) (io.Closer, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = lockOpen(file)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// lockOpen takes the lock of an open file. On Linux that is fcntl's, which excludes
// versions of this library with locks that belong to their process; the kernels of the
// other systems let flock's exclude these.
func lockOpen(file *os.File) error {
	for {
		if err := tryLockOpen(file); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isHeld reports whether lockFile failed because another owner holds the lock.
func isHeld(err error) bool { return errors.Is(err, syscall.EAGAIN) }

func tryLockOpen(file *os.File) error {
	if runtime.GOOS == "linux" {
		return syscall.FcntlFlock(file.Fd(), setOpenFileLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	}
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
