// SPDX-License-Identifier: Apache-2.0

package kv

// ManyGetter is implemented by transactions of engines where many reads that
// start together cost less than a Get of each. Programs call [GetMany], which
// works with all transactions.
type ManyGetter interface {
	// GetMany starts a Get of each key and returns their futures, in the same order.
	// It does not keep keys.
	GetMany(keys [][]byte) []Future[[]byte]
}

// GetMany starts a Get of each key and returns their futures, in the same order:
// one round of reads. The keys may be changed once it returns.
func GetMany(tx ReadTransaction, keys [][]byte) []Future[[]byte] {
	if many, ok := tx.(ManyGetter); ok {
		return many.GetMany(keys)
	}
	futures := make([]Future[[]byte], len(keys))
	for i, key := range keys {
		futures[i] = tx.Get(key)
	}
	return futures
}
