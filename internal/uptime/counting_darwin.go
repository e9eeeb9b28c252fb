// SPDX-License-Identifier: Apache-2.0

package uptime

import "golang.org/x/sys/unix"

const sleepless = unix.CLOCK_MONOTONIC // on macOS it counts sleep; Go's own clock is CLOCK_UPTIME_RAW
