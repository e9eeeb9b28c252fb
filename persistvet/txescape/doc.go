// SPDX-License-Identifier: Apache-2.0

// Package txescape reports transactions, futures, range reads, directories and stores bound
// to a transaction that outlive the transaction to which they belong:
//
//	var value []byte
//	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
//		value, err = tx.Get(key).Get(ctx) // the value may leave, the future may not
//		return err
//	})
package txescape
