// SPDX-License-Identifier: Apache-2.0

// Package scan reads ranges of a store's records or index entries. It merges the
// shards of a scattered range into one order, leaves out keys that the transaction
// itself has set since the read began, and joins the chunks of a record:
//
//	r := scan.Range{Keyspace: records, Bounds: bounds}
//	for pairs, err := range r.Batches(ctx, tx) { … }
//
// One goroutine reads a range; other goroutines may write at the same time in the same
// transaction.
package scan
