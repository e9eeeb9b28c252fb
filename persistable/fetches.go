// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// fetches are reads of records that are started together, in one round.
type fetches struct {
	record  *record
	reader  kv.ReadTransaction
	records scan.Keyspace
	keys    [][]byte
	packed  []byte // the bytes of keys
	values  []kv.Future[[]byte]
	scratch *scratch // that the records share; nil: each has its own
	read    int      // how many bytes the records have that were awaited
}

// reserve makes room for n records with ids of about so many bytes.
func (f *fetches) reserve(n, idSize int) {
	f.keys = slices.Grow(f.keys, n)
	f.values = slices.Grow(f.values, n)
	f.packed = slices.Grow(f.packed, n*(len(f.records.Prefix)+shardSize+idSize))
}

// shardSize is room for the number of a shard, in bytes.
const shardSize = 3

// add adds the record with that packed id.
func (f *fetches) add(id []byte) {
	first := len(f.packed)
	f.packed = f.records.Append(f.packed, id)
	f.keys = append(f.keys, f.packed[first:len(f.packed):len(f.packed)])
}

// start starts the reads of all records that were added.
func (f *fetches) start() {
	if len(f.keys) > 0 {
		f.values = kv.AppendGets(f.values, f.reader, f.keys)
	}
}

// awaitRecord returns the i-th record, nil if there is none.
func (f *fetches) awaitRecord(ctx context.Context, i int) (any, error) {
	value, err := f.values[i].Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	whole, err := f.record.readWhole(ctx, f.reader, f.id(i), f.keys[i], value)
	if err != nil {
		return nil, err
	}
	f.read += len(whole.Payload)
	if f.scratch == nil {
		return f.record.decodeRecord(whole, f.id(i), f.keys[i])
	}
	if i == 0 {
		f.scratch.strings.Expect(len(f.values) * len(value)) // the others are alike, perhaps
	}
	return f.record.decodeWith(f.scratch, whole, f.id(i), f.keys[i])
}

// id returns the packed id of the i-th record.
func (f *fetches) id(i int) []byte { return f.records.Suffix(f.keys[i]) }
