// SPDX-License-Identifier: Apache-2.0

// Package txn has the types that a transaction gives to the committer, and the
// outcome that it gets back. Both import it.
package txn
