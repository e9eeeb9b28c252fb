// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"time"

	"github.com/google/btree"

	"github.com/kazahana-db/kazahana/lease"
)

// tx is a transaction: the store is locked while it lasts.
type tx struct {
	now    time.Time
	pairs  *btree.BTreeG[lease.Pair]
	writes []lease.Pair // in order; a nil value deletes
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Get implements [lease.Tx].
func (t *tx) Get(_ context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if pair, ok := t.pairs.Get(lease.Pair{Key: key}); ok {
			values[i] = pair.Value
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(_ context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	var found []lease.Pair
	t.pairs.AscendRange(lease.Pair{Key: begin}, lease.Pair{Key: end}, func(pair lease.Pair) bool {
		found = append(found, pair)
		return len(found) < limit
	})
	return found, nil
}

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) { t.writes = append(t.writes, lease.Pair{Key: key, Value: value}) }

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }
