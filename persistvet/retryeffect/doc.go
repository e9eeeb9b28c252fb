// SPDX-License-Identifier: Apache-2.0

// Package retryeffect reports what a transaction function does besides reading and writing
// in its transaction, and what a retry repeats:
//
//	var names []string
//	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
//		names = names[:0] // without this line a retry appends the names again
//		for pair, err := range tx.GetRange(r, kv.RangeOptions{}).All(ctx) {
//			names = append(names, string(pair.Key))
//		}
//		return nil
//	})
//
// A method that gets the transaction, and adds to fields of its receiver, is reported where a
// transaction function calls it with a receiver that outlives the attempt.
//
// The assignment of a result to an outer variable is not reported: the last attempt wins.
package retryeffect
