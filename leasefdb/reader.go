// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
)

// NewReader returns the map of a service in the directory with that prefix, as tx reads
// it. It is for tools, which examine the map without a [Store]; see [lease.Examine].
func NewReader(tx kv.ReadTransaction, directory []byte, service string) lease.Reader {
	return serviceReader{tx, servicePrefix(directory, service)}
}

type serviceReader struct {
	tx     kv.ReadTransaction
	prefix []byte
}

func (r serviceReader) key(key []byte) []byte {
	return append(r.prefix[:len(r.prefix):len(r.prefix)], key...)
}

// Get implements [lease.Reader].
func (r serviceReader) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	own := make([][]byte, len(keys))
	for i, key := range keys {
		own[i] = r.key(key)
	}
	values := make([][]byte, len(keys))
	for i, read := range kv.GetMany(r.tx, own) {
		var err error
		if values[i], err = read.Get(ctx); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Scan implements [lease.Reader].
func (r serviceReader) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	keys := kv.KeyRange{Begin: r.key(begin), End: r.key(end)}
	found, err := r.tx.GetRange(keys.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	pairs := make([]lease.Pair, len(found))
	for i, pair := range found {
		pairs[i] = lease.Pair{Key: pair.Key[len(r.prefix):], Value: pair.Value}
	}
	return pairs, nil
}

// DecodeState reads what the directory of named leases holds of a name: the values of the
// fence key ("F", name), whose key an error names, and of the renewal key ("N", name); nil
// is an absent key. Damage is a *[StateError].
func DecodeState(name string, key, fence, renewal []byte) (State, error) {
	return decodeState(name, key, fence, renewal)
}
