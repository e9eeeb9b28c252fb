// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// transaction is a [lease.Tx] on the pairs of a page, which it does not change.
type transaction struct {
	now    time.Time
	pairs  []lease.Pair
	writes []lease.Pair // in order; a nil value deletes
}

// Now implements [lease.Tx].
func (t *transaction) Now() time.Time { return t.now }

// Get implements [lease.Tx].
func (t *transaction) Get(_ context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if at, found := search(t.pairs, key); found {
			values[i] = t.pairs[at].Value
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *transaction) Scan(_ context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	from, _ := search(t.pairs, begin)
	until, _ := search(t.pairs, end)
	until = max(from, until)
	return slices.Clone(t.pairs[from:min(until, from+limit)]), nil
}

// Set implements [lease.Tx].
func (t *transaction) Set(key, value []byte) {
	t.writes = append(t.writes, lease.Pair{Key: key, Value: value})
}

// Delete implements [lease.Tx].
func (t *transaction) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }

// commit returns the pairs as the writes leave them.
func (t *transaction) commit() []lease.Pair {
	slices.SortStableFunc(t.writes, func(a, b lease.Pair) int { return bytes.Compare(a.Key, b.Key) })
	merged, rest := make([]lease.Pair, 0, len(t.pairs)+len(t.writes)), t.pairs
	for i, w := range t.writes {
		if i+1 < len(t.writes) && bytes.Equal(w.Key, t.writes[i+1].Key) {
			continue // a later write of the key follows
		}
		at, found := search(rest, w.Key)
		merged, rest = append(merged, rest[:at]...), rest[at:]
		if found {
			rest = rest[1:]
		}
		if w.Value != nil {
			merged = append(merged, w)
		}
	}
	return append(merged, rest...)
}

func search(pairs []lease.Pair, key []byte) (int, bool) {
	return slices.BinarySearchFunc(pairs, key, func(p lease.Pair, key []byte) int { return bytes.Compare(p.Key, key) })
}
