// SPDX-License-Identifier: Apache-2.0

// Package uptime measures time including the sleep of the machine. [time.Since]
// leaves sleep out on Linux and macOS.
package uptime
