// SPDX-License-Identifier: Apache-2.0

// Package freshvalue reports ids, clocks and random numbers that a transaction function
// takes: a retry takes others.
//
//	order := NewOrder(Order{Number: "A-1"}) // before Transact: each attempt writes this record
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		return orders.In(tx).Create(ctx, order)
//	})
//
// A clock that is only compared, or measures how long something takes, is not reported, nor
// is anything in a transaction that only reads, which stores nothing.
package freshvalue
