// SPDX-License-Identifier: Apache-2.0

// Package measure counts what operations ask of a database: rounds of reads, keys, bytes,
// retries. Tracers of layers and tests of costs are made with it.
//
//	var m measure.Meter
//	err := m.Database(db).Transact(ctx, func(tx kv.Transaction) error {
//		balance, err := tx.Get(account).Get(ctx)
//		if err != nil {
//			return err
//		}
//		tx.Set(account, add(balance, 10))
//		return nil
//	})
//	fmt.Println(m.Usage()) // 1 rounds (1 gets, …
//
// A wrapped database is safe for concurrent use; a wrapped transaction is as safe as
// package kv says, and has the engine's other interfaces ([kv.ManyGetter],
// [kv.ConflictRanger]).
package measure
