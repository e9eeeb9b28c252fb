// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// DiskUse returns the sizes of all files in a folder and in those below it, in bytes. Files may
// come and go as it counts.
func DiskUse(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
