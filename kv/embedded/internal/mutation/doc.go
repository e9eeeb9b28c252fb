// SPDX-License-Identifier: Apache-2.0

// Package mutation has the writes of a commit: sets, range clears, FoundationDB's
// atomic operations and their results, and the versionstamps that a commit fills
// in. Its functions do not modify their arguments.
package mutation
