// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Memory returns the process's resident memory, in bytes. It needs Linux.
func Memory() (int64, error) { return readStatus("VmRSS") }

// PeakMemory returns the most memory that the process has had, in bytes. It needs Linux.
func PeakMemory() (int64, error) { return readStatus("VmHWM") }

// readStatus reads a size from the process's status.
func readStatus(name string) (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			var kilobytes int64
			if _, err := fmt.Sscanf(value, "%d kB", &kilobytes); err != nil {
				return 0, fmt.Errorf("measure: %s in /proc/self/status: %w", name, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("measure: /proc/self/status has no %s", name)
}

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
