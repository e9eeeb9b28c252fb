// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

func tryLock(file *os.File, shared bool) error {
	var flags uint32 = windows.LOCKFILE_FAIL_IMMEDIATELY
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped))
}

func isLocked(err error) bool { return errors.Is(err, windows.ERROR_LOCK_VIOLATION) }
