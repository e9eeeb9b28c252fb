// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// pageSize is how many instructions one transaction reads: few enough to have
// them long before the transaction is too old.
const pageSize = 5000

// program yields the pairs in the range of the tuple (prefix). They are read
// in pages, so that a program may be of any length and take any time.
func program(ctx context.Context, db kv.Database, prefix []byte) iter.Seq2[kv.KeyValue, error] {
	begin, end, err := tuple.Tuple{prefix}.Range()
	left := kv.KeyRange{Begin: begin, End: end}
	return func(yield func(kv.KeyValue, error) bool) {
		for err == nil {
			var page []kv.KeyValue
			page, err = readPage(ctx, db, left)
			for _, pair := range page {
				if !yield(pair, nil) {
					return
				}
			}
			if err == nil && len(page) < pageSize {
				return
			}
			if err == nil {
				left.Begin = kv.Successor(page[len(page)-1].Key)
			}
		}
		yield(kv.KeyValue{}, err)
	}
}

func readPage(ctx context.Context, db kv.Database, r kv.KeyRange) ([]kv.KeyValue, error) {
	return kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: pageSize, Mode: kv.ModeWantAll}).Slice(ctx)
	})
}
