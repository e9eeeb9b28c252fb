// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// ResetPeakMemory returns unused memory to the system and lets [PeakMemory] begin anew.
// It returns the process's resident memory, in bytes. It needs Linux.
func ResetPeakMemory() (int64, error) {
	debug.FreeOSMemory()
	const resetPeak = "5"
	if err := os.WriteFile("/proc/self/clear_refs", []byte(resetPeak), 0o200); err != nil {
		return 0, err
	}
	return Memory()
}

// Memory returns the process's resident memory, in bytes. It needs Linux.
func Memory() (int64, error) { return readStatus("VmRSS") }

// PeakMemory returns the most memory that the process had since ResetPeakMemory, in bytes.
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
