// SPDX-License-Identifier: Apache-2.0

package kv

// ManyGetter is implemented by transactions of engines where many reads that
// start together cost less than a Get of each. Programs call [GetMany], which
// works with all transactions.
type ManyGetter interface {
	// AppendGets starts a Get of each key and appends their futures, in the same order.
	// It does not keep keys.
	AppendGets(futures []Future[[]byte], keys [][]byte) []Future[[]byte]
}

// GetMany starts a Get of each key and returns their futures, in the same order:
// one round of reads. The keys may be changed once it returns.
func GetMany(tx ReadTransaction, keys [][]byte) []Future[[]byte] {
	return AppendGets(make([]Future[[]byte], 0, len(keys)), tx, keys)
}

// AppendGets is [GetMany] for callers that have memory for the futures: it appends them.
func AppendGets(futures []Future[[]byte], tx ReadTransaction, keys [][]byte) []Future[[]byte] {
	if many, ok := tx.(ManyGetter); ok {
		return many.AppendGets(futures, keys)
	}
	for _, key := range keys {
		futures = append(futures, tx.Get(key))
	}
	return futures
}
