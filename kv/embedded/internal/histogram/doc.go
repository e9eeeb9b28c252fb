// SPDX-License-Identifier: Apache-2.0

// Package histogram counts durations and sizes without a lock.
package histogram
