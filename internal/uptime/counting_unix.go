// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package uptime

import (
	"time"

	"golang.org/x/sys/unix"
)

// counting reads the system's clock that goes on during sleep; 0 if it cannot.
func counting() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(sleepless, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
