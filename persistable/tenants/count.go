// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// countBytes is about how much a transaction of a count reads.
const countBytes = 500_000

// count is a step of the count of a tenant's records. Records are counted in the order
// of their keys in the database, over all directories of the tenant. A write counts its
// record if the record's key is below the step's end, which is stored. So that each
// record is counted once, a step conflicts with each write that it does not see:
//
//   - with one that commits before it, because it has read the keys;
//   - with one that commits after it and has read before, because it writes to the
//     range of keys, in which the write has read its record's key.
type count struct {
	usage tenancy.Usage
	size  int
	begin []byte // where the step before ended
	end   []byte // after all keys that the last record counted can have
}

// run counts records until the step is full, and reports whether none were left.
func (c *count) run(ctx context.Context, tx kv.ReadTransaction, t tree) (done bool, err error) {
	c.end = c.begin
	for _, records := range t.records() {
		if bytes.Compare(records.End, c.begin) <= 0 {
			continue
		}
		records.Begin = slices.MaxFunc([][]byte{records.Begin, c.begin}, bytes.Compare)
		if full, err := c.countRange(ctx, tx, records); full || err != nil {
			return false, err
		}
	}
	return true, nil
}

// countRange counts the records of a range until the step is full, at least one.
func (c *count) countRange(ctx context.Context, tx kv.ReadTransaction, keys kv.KeyRange) (full bool, err error) {
	var key []byte       // of the current record
	var size, chunks int // its bytes so far, the chunks to come
	for pair, err := range tx.GetRange(keys.Selectors(), kv.RangeOptions{Mode: kv.ModeIterator}).All(ctx) {
		if err != nil {
			return false, err
		}
		if chunks == 0 {
			r, err := format.ParseRecord(pair.Value)
			if err != nil {
				return false, fmt.Errorf("tenants: the record at key %x: %w", pair.Key, err)
			}
			key, size, chunks = pair.Key, 0, r.Chunks+1
		}
		size += len(pair.Value)
		if chunks--; chunks > 0 {
			continue
		}
		c.usage.Records++
		c.usage.Bytes += int64(size)
		c.end = append(bytes.Clone(key), 0xff) // it may have more chunks by the next step
		if c.size += len(key) + size; c.size >= countBytes {
			return true, nil
		}
	}
	return false, nil
}
