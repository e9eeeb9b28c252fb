// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sharingViolation is Windows' ERROR_SHARING_VIOLATION: another handle has the file open.
const sharingViolation = syscall.Errno(32)

// isHeld reports whether lockFile failed because another owner has the file open.
func isHeld(err error) bool { return errors.Is(err, sharingViolation) }

// lockFile opens a file so that nothing else can open it, by whatever path, until it is
// closed.
func lockFile(path string) (io.Closer, os.FileInfo, error) {
	held, err := vfs.Default.Lock(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, errors.Join(err, held.Close())
	}
	os.SameFile(info, info) // which makes Windows tell its identity now
	return held, info, nil
}
