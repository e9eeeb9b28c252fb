// SPDX-License-Identifier: Apache-2.0

// Package uptime tells how much time passes, also while the machine sleeps.
// [time.Since] leaves that time out on Linux and macOS.
package uptime
