// SPDX-License-Identifier: Apache-2.0

package file

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

func lockFile(file *os.File, shared bool, flags uint32) error {
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped))
}

func tryLock(file *os.File, shared bool) error {
	return lockFile(file, shared, windows.LOCKFILE_FAIL_IMMEDIATELY)
}

func lock(file *os.File, shared bool) error { return lockFile(file, shared, 0) }
