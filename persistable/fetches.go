// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// fetches are reads of records that were started.
type fetches struct {
	record  *record
	reader  kv.ReadTransaction
	records scan.Keyspace
	keys    [][]byte
	values  []kv.Future[[]byte]
}

// startFetch starts the read of the record with that packed id.
func (f *fetches) startFetch(id []byte) {
	key := f.records.Append(nil, id)
	f.keys = append(f.keys, key)
	f.values = append(f.values, f.reader.Get(key))
}

// awaitRecord returns the i-th record, nil if there is none.
func (f *fetches) awaitRecord(ctx context.Context, i int) (any, error) {
	value, err := f.values[i].Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	return f.record.readValue(ctx, f.reader, f.id(i), f.keys[i], value)
}

// id returns the packed id of the i-th record.
func (f *fetches) id(i int) []byte { return f.records.Suffix(f.keys[i]) }
