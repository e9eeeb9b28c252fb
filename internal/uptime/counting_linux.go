// SPDX-License-Identifier: Apache-2.0

package uptime

import "golang.org/x/sys/unix"

const sleepless = unix.CLOCK_BOOTTIME
