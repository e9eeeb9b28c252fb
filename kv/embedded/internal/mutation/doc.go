// SPDX-License-Identifier: Apache-2.0

// Package mutation is what a commit writes: sets, range clears and FoundationDB's
// atomic operations, with what those make of a value, and the versionstamps that
// a commit fills in. Its functions do not modify their arguments.
package mutation
