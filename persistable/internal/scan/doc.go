// SPDX-License-Identifier: Apache-2.0

// Package scan reads ranges of a store's records or index entries. It puts the
// shards of a scattered range into one order, leaves out what the transaction
// itself has set since the read began, and puts the chunks of a record together:
//
//	r := scan.Range{Keyspace: records, Bounds: bounds}
//	for pairs, err := range r.Batches(ctx, tx) { … }
//
// A range is read by one goroutine; other goroutines may write in the same
// transaction meanwhile.
package scan
