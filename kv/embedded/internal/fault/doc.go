// SPDX-License-Identifier: Apache-2.0

// Package fault is the engine's failures: the first error of the disk, which ends all commits,
// and damage to files.
package fault
