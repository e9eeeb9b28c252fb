// SPDX-License-Identifier: Apache-2.0

// Package txn holds what a transaction hands to the committer, and what it is told
// in return. It lies below both.
package txn
