// SPDX-License-Identifier: Apache-2.0

// Package outsidetx reports what a transaction function reads and writes in another
// transaction than its own: through a store that is not bound to it, or a database.
//
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		return orders.In(tx).Create(ctx, order) // orders.Create would commit by itself
//	})
package outsidetx
